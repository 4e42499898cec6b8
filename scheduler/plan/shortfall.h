/* The amounts that a node lacks for a pod, and whether VMs that leave can make
 * up for them: a quick look before the filters. */
#pragma once

#include "scheduler/filter/filter.h"
#include "scheduler/plan/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHORTFALL_MAX = RESOURCES_POD_MAX + 5 };

enum shortfall_kind {
	SHORTFALL_PODS,
	SHORTFALL_CPU,
	SHORTFALL_MEMORY,
	SHORTFALL_EPHEMERAL,
	SHORTFALL_USED, /* measured memory */
	SHORTFALL_SCALAR,
};

/* Only what is short. */
struct shortfall {
	struct {
		enum shortfall_kind kind;
		uint32_t resource;
		double amount;
	} list[SHORTFALL_MAX];
	size_t count;
};

void shortfall_of(struct shortfall *out, const struct pod *pod,
	const struct node *node, const struct filter_options *options,
	int64_t now_us);

/* The amount that the VM would free. */
double shortfall_share(const struct shortfall *shortfall, size_t i,
	const struct state_vm *vm);
