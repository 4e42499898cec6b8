#include "simulate/comparators/comparators.h"
#include "simulate/comparators/relief.h"

#include <math.h>

/* Proxmox's defaults for threshold and margin. */
static const double imbalance_max = 0.3;
static const double gain_min = 0.1;

/* Sums over the nodes' loads, so that a move changes the result in O(1). */
struct balance {
	double sum, squares;
	size_t count;
};

static struct balance balance_of(const struct fleet *fleet)
{
	struct balance balance = { .count = fleet->node_count };

	for (size_t i = 0; i < fleet->node_count; i++) {
		double load = relief_load(&fleet->nodes[i]);

		balance.sum += load;
		balance.squares += load * load;
	}
	return balance;
}

static void shift(struct balance *balance, const struct fleet_node *node,
	double cores)
{
	double before = relief_load(node);
	double after = before + cores / node->cores;

	balance->sum += after - before;
	balance->squares += after * after - before * before;
}

static double imbalance(const struct balance *balance)
{
	double mean = balance->sum / (double)balance->count;
	double variance =
		balance->squares / (double)balance->count - mean * mean;

	return mean > 0 ? sqrt(fmax(variance, 0)) / mean : 0;
}

static double after_move(const struct balance *before,
	const struct fleet *fleet, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct balance balance = *before;

	shift(&balance, &fleet->nodes[vm->node], -vm->used_cores);
	shift(&balance, target, vm->used_cores);
	return imbalance(&balance);
}

/* Improves *least and out with moves of this VM. */
static bool try_vm(const struct fleet *fleet, size_t index,
	const struct balance *before, double *least,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct fleet_vm *vm = &fleet->vms[index];
	bool has_move = false;

	for (size_t i = 0; i < fleet->node_count; i++) {
		const struct fleet_node *target = &fleet->nodes[i];
		double after;

		if (i == vm->node || !target->may_take) {
			continue;
		}
		after = after_move(before, fleet, vm, target);
		if (after < *least &&
			options->may_run(options->owner, vm, target)) {
			*least = after;
			*out = (struct fleet_move){ .vm = index, .target = i };
			has_move = true;
		}
	}
	return has_move;
}

static bool next(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	struct balance before = balance_of(fleet);
	double now = imbalance(&before);
	double least = now * (1 - gain_min);
	bool has_move = false;

	(void)state;
	if (now <= imbalance_max) {
		return false;
	}
	for (size_t i = 0; i < fleet->vm_count; i++) {
		const struct fleet_vm *vm = &fleet->vms[i];

		if (vm->may_move && fleet->nodes[vm->node].may_give) {
			has_move |=
				try_vm(fleet, i, &before, &least, options, out);
		}
	}
	return has_move;
}

const struct move_policy imbalance_policy = {
	.name = "imbalance",
	.source = "Proxmox VE, load balancer of pve-ha-manager",
	.next = next,
};
