#include "scheduler/forecast/model.h"
#include "simulate/comparators/comparators.h"
#include "simulate/comparators/relief.h"

#include <math.h>

/* The profile's deviation threshold "Low". */
static const double deviation = 0.1;

static double mean_load(const struct fleet *fleet)
{
	double sum = 0;

	for (size_t i = 0; i < fleet->node_count; i++) {
		sum += relief_load(&fleet->nodes[i]);
	}
	return sum / (double)fleet->node_count;
}

/* LeastAllocated, by requests alone: what kube-scheduler does with an evicted
 * VM, as it knows no load. */
static double free_by_requests(const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	const struct node *node = target->node;
	double cpu = (double)(node->cpu_milli - node->cpu_milli_requested -
			     vm->pod->requests.cpu_milli) /
		fmax((double)node->cpu_milli, 1);
	double memory =
		(double)(node->memory_bytes - node->memory_bytes_requested -
			vm->pod->requests.memory_bytes) /
		fmax((double)node->memory_bytes, 1);

	return (cpu + memory) / 2;
}

/* As policy real-load sees it: the room that is left, in deviations. */
static double free_by_load(const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	return model_headroom(target->mean + vm->cores,
		target->variance + vm->variance, target->cores);
}

/* The descheduler evicts pods of low priority and quality of service first.
 * VMs are equal in both, so the first in its list goes: none is preferred. */
static bool prefers_none(const struct fleet_vm *a, const struct fleet_vm *b)
{
	(void)a;
	(void)b;
	return false;
}

/* A node below the mean must exist, or the descheduler evicts nothing. */
static bool has_low_node(const struct fleet *fleet, double low)
{
	for (size_t i = 0; i < fleet->node_count; i++) {
		if (relief_load(&fleet->nodes[i]) < low) {
			return true;
		}
	}
	return false;
}

static bool relieve(const struct fleet *fleet, const struct relief *relief,
	const struct rule_options *options, struct fleet_move *out)
{
	double mean = mean_load(fleet);

	if (!has_low_node(fleet, mean - deviation)) {
		return false;
	}
	for (size_t i = 0; i < fleet->node_count; i++) {
		if (relief_load(&fleet->nodes[i]) > mean + deviation &&
			relief_best(out, fleet, i, relief, options)) {
			return true;
		}
	}
	return false;
}

static bool next_by_requests(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = INFINITY,
		.prefers = prefers_none,
		.rank = free_by_requests };

	(void)state;
	return relieve(fleet, &relief, options, out);
}

static bool next_by_load(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = INFINITY,
		.prefers = prefers_none,
		.rank = free_by_load };

	(void)state;
	return relieve(fleet, &relief, options, out);
}

const struct move_policy deviation_policy = {
	.name = "deviation",
	.source =
		"descheduler, LowNodeUtilization with "
		"useDeviationThresholds, placed by requests",
	.next = next_by_requests,
};

const struct move_policy deviation_real_load_policy = {
	.name = "deviation-real-load",
	.source =
		"descheduler, LowNodeUtilization with "
		"useDeviationThresholds, placed by real load",
	.next = next_by_load,
};
