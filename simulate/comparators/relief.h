/* One move off an overloaded node: which VM leaves, and where it goes. */
#pragma once

#include "scheduler/rebalance/move_policy.h"

/* The node's last observed use, as a share of its cores. */
double relief_load(const struct fleet_node *node);

/* True: VM a leaves rather than b. */
typedef bool (
	*relief_order)(const struct fleet_vm *a, const struct fleet_vm *b);

bool relief_least_memory(const struct fleet_vm *a, const struct fleet_vm *b);

struct relief {
	/* A target's load with the VM stays at or below this share. */
	double target_limit;
	relief_order prefers;
	/* NULL, or: the VM may leave this node. */
	bool (*helps)(const struct fleet_vm *vm, const struct fleet_node *node);
	/* The target's rank, higher is better; NULL: the least loaded. */
	double (*rank)(const struct fleet_vm *vm,
		const struct fleet_node *target);
};

/* The first VM of the node, in the order, that has a target. */
bool relief_best(struct fleet_move *out, const struct fleet *fleet,
	size_t source, const struct relief *relief,
	const struct rule_options *options);
