#include "simulate/comparators/relief.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

double relief_load(const struct fleet_node *node)
{
	return node->cores > 0 ? node->used_cores / node->cores : INFINITY;
}

bool relief_least_memory(const struct fleet_vm *a, const struct fleet_vm *b)
{
	return a->memory_bytes < b->memory_bytes;
}

static double rank_of(const struct relief *relief, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	return relief->rank != NULL ? relief->rank(vm, target)
				    : -relief_load(target);
}

static bool fits(const struct fleet *fleet, const struct fleet_vm *vm,
	size_t target, const struct relief *relief,
	const struct rule_options *options)
{
	const struct fleet_node *node = &fleet->nodes[target];

	return target != vm->node && node->may_take &&
		node->used_cores + vm->used_cores <=
		relief->target_limit * node->cores &&
		options->may_run(options->owner, vm, node);
}

/* The target with the highest rank, the first of equals; SIZE_MAX: none. */
static size_t find_target(const struct fleet *fleet, const struct fleet_vm *vm,
	const struct relief *relief, const struct rule_options *options)
{
	size_t best = SIZE_MAX;
	double highest = -INFINITY;

	for (size_t i = 0; i < fleet->node_count; i++) {
		double rank = rank_of(relief, vm, &fleet->nodes[i]);

		if (rank > highest && fits(fleet, vm, i, relief, options)) {
			highest = rank;
			best = i;
		}
	}
	return best;
}

/* The preferred VM of the node that was not tried; NULL: none. */
static struct fleet_vm *next_vm(const struct fleet *fleet,
	const struct fleet_node *node, const struct relief *relief,
	const bool *tried)
{
	struct fleet_vm *best = NULL;

	for (size_t i = 0; i < node->vm_count; i++) {
		struct fleet_vm *vm = &fleet->vms[node->first_vm + i];

		if (!tried[i] && vm->may_move &&
			(relief->helps == NULL || relief->helps(vm, node)) &&
			(best == NULL || relief->prefers(vm, best))) {
			best = vm;
		}
	}
	return best;
}

bool relief_best(struct fleet_move *out, const struct fleet *fleet,
	size_t source, const struct relief *relief,
	const struct rule_options *options)
{
	const struct fleet_node *node = &fleet->nodes[source];
	scoped_free bool *tried = xcalloc(node->vm_count + 1, sizeof(*tried));
	struct fleet_vm *vm;

	if (!node->may_give) {
		return false;
	}
	while ((vm = next_vm(fleet, node, relief, tried)) != NULL) {
		size_t target = find_target(fleet, vm, relief, options);

		if (target != SIZE_MAX) {
			*out = (struct fleet_move){
				.vm = (size_t)(vm - fleet->vms),
				.target = target,
			};
			return true;
		}
		tried[(size_t)(vm - fleet->vms) - node->first_vm] = true;
	}
	return false;
}
