/* A plan's figures: the nodes before and after it, and the VMs that are not
 * shown. Pure. */
#pragma once

#include "scheduler/answers/plan_answer.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct plan_result {
	const struct plan_question *question;
	const struct plan_input *input;
	struct plan plan;
	unsigned *waves; /* by step */
	unsigned wave_count;
};

/* The asker may know the VM of this pod. */
bool plan_result_shows(const struct plan_result *result, const struct pod *pod);

/* A node before and after the plan. Shares of its shared cores, and of its
 * memory: that in use, or that of requests while its load is not known. NAN:
 * unknown. */
struct plan_node {
	bool is_touched, is_target;
	double cpu_before, cpu_after;
	double memory_before, memory_after;
};

/* By node of the input's cluster. The caller frees them. */
struct plan_node *plan_tally_nodes(const struct plan_result *result);

/* VMs that are not shown: all, and those of each list. */
struct plan_hidden {
	size_t vms, steps, stuck, lost;
};
struct plan_hidden plan_tally_hidden(const struct plan_result *result);
