#include "simulate/comparators/comparators.h"
#include "simulate/comparators/relief.h"

static bool relieve_above(const struct fleet *fleet, double limit,
	const struct relief *relief, const struct rule_options *options,
	struct fleet_move *out)
{
	for (size_t i = 0; i < fleet->node_count; i++) {
		if (relief_load(&fleet->nodes[i]) > limit &&
			relief_best(out, fleet, i, relief, options)) {
			return true;
		}
	}
	return false;
}

static bool next_80(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = 0.8,
		.prefers = relief_least_memory };

	(void)state;
	return relieve_above(fleet, 0.8, &relief, options, out);
}

static bool next_90(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = 0.9,
		.prefers = relief_least_memory };

	(void)state;
	return relieve_above(fleet, 0.9, &relief, options, out);
}

static bool uses_less(const struct fleet_vm *a, const struct fleet_vm *b)
{
	return a->used_cores < b->used_cores;
}

static bool brings_below_80(const struct fleet_vm *vm,
	const struct fleet_node *node)
{
	return node->used_cores - vm->used_cores <= 0.8 * node->cores;
}

static bool next_smallest(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = 0.8,
		.prefers = uses_less,
		.helps = brings_below_80 };

	(void)state;
	return relieve_above(fleet, 0.8, &relief, options, out);
}

const struct move_policy threshold_80_policy = {
	.name = "threshold-80",
	.source =
		"Beloglazov and Buyya 2012, static threshold, minimum "
		"migration time",
	.next = next_80,
};

const struct move_policy threshold_90_policy = {
	.name = "threshold-90",
	.source =
		"Beloglazov and Buyya 2012, static threshold, minimum "
		"migration time",
	.next = next_90,
};

const struct move_policy smallest_that_helps_policy = {
	.name = "smallest-that-helps",
	.source = "oVirt, scheduling policy evenly_distributed",
	.next = next_smallest,
};
