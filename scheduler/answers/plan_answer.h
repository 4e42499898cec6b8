/* The answer to a question for a plan, made in the planner's thread: the search
 * and its result as JSON.
 *
 * An asker that may not list the VMs of all namespaces gets those of other
 * namespaces as counts, and sentences that are made of names of nodes, of the
 * question's namespace, and of counts. */
#pragma once

#include "lib/buffer.h"
#include "proto/decision.h"
#include "scheduler/answers/spec.h"
#include "scheduler/kubevirt/migration_limits.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct plan_question {
	enum plan_goal_name goal;
	char namespace[DECISION_NAME_MAX];
	bool is_visible; /* VMs of all namespaces may be named */
	char *name;	 /* owned; of the VM or pod, or NULL */
	char **nodes;	 /* owned, as the names */
	size_t node_count;
	/* GOAL_MAKE_ROOM: the pod, owned; the event loop makes and frees it. */
	struct pod *pod;
	struct migration_limits limits; /* KubeVirt's */
	const char *scheduler;		/* borrowed: this replica's identity */
};

/* Copies what the spec borrows; pod and the members after it are the
 * caller's. */
void plan_question_init(struct plan_question *question,
	const struct plan_spec *spec, const char *namespace, bool is_visible);
void plan_question_fini(struct plan_question *question);

/* Appends the JSON of a Plan's status and returns 200; or a sentence, and
 * another status of HTTP. wall_us: now. The input is the same afterwards. */
unsigned plan_answer_write(struct buffer *out,
	const struct plan_question *question, const struct plan_input *input,
	uint64_t wall_us);
