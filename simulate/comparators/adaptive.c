#include "simulate/comparators/comparators.h"
#include "simulate/comparators/load_history.h"
#include "simulate/comparators/relief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CloudSim's constants: the threshold while the history is short, the
 * lengths that suffice, and the safety parameters. */
static const double fallback_limit = 0.7;
enum { QUARTILES_MIN = 12, REGRESSION_LENGTH = 10 };
static const double quartiles_safety = 1.5;
static const double regression_safety = 1.2;

struct adaptive {
	struct load_history history;
	double step_s;
};

static void observe(void *state, const struct fleet *fleet, double step_s)
{
	struct adaptive *adaptive = state;

	adaptive->step_s = step_s;
	load_history_add(&adaptive->history, fleet);
}

static void fini(void *state)
{
	struct adaptive *adaptive = state;

	load_history_fini(&adaptive->history);
}

static int compare(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* CloudSim's MathUtil.iqr(): elements at a quarter and three quarters. */
static double quartile_limit(const struct load_history *history, size_t node)
{
	double sorted[LOAD_HISTORY_MAX];
	size_t count = history->count;
	size_t first, third;

	if (count < QUARTILES_MIN) {
		return fallback_limit;
	}
	memcpy(sorted, history->loads[node], count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	first = (size_t)lround(0.25 * (double)(count + 1)) - 1;
	third = (size_t)lround(0.75 * (double)(count + 1)) - 1;
	return 1 - quartiles_safety * (sorted[third] - sorted[first]);
}

/* The tricube weight of point i of n, near the last one. */
static double tricube(size_t i, size_t n)
{
	double distance = (double)(n - 1 - i) / (double)(n - 1);
	double x = 1 - distance * distance * distance;

	return x * x * x;
}

/* A weighted straight line through the last loads, `ahead` steps further. */
static double predicted(const double *loads, double ahead)
{
	double weights = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
	double spread, slope;

	for (size_t i = 0; i < REGRESSION_LENGTH; i++) {
		double w = tricube(i, REGRESSION_LENGTH);
		double x = (double)i + 1;

		weights += w;
		x_sum += w * x;
		y_sum += w * loads[i];
		xx += w * x * x;
		xy += w * x * loads[i];
	}
	spread = xx - x_sum * x_sum / weights;
	slope = spread > 0 ? (xy - x_sum * y_sum / weights) / spread : 0;
	return y_sum / weights +
		slope * (REGRESSION_LENGTH + ahead - x_sum / weights);
}

/* The steps that the node's longest copy takes, at least one. */
static double copy_steps(const struct fleet *fleet,
	const struct fleet_node *node, double step_s)
{
	const double bytes_per_second = 1e9;
	double largest = 0;

	for (size_t i = 0; i < node->vm_count; i++) {
		largest = fmax(largest,
			fleet->vms[node->first_vm + i].memory_bytes);
	}
	return fmax(ceil(largest / bytes_per_second / step_s), 1);
}

static bool is_rising_too_far(const struct adaptive *adaptive,
	const struct fleet *fleet, size_t node)
{
	const struct load_history *history = &adaptive->history;
	const double *loads;

	if (history->count < REGRESSION_LENGTH) {
		return relief_load(&fleet->nodes[node]) > fallback_limit;
	}
	loads = history->loads[node] + history->count - REGRESSION_LENGTH;
	return regression_safety *
		predicted(loads,
			copy_steps(fleet, &fleet->nodes[node],
				adaptive->step_s)) >=
		1;
}

static bool next_quartiles(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct adaptive *adaptive = state;

	for (size_t i = 0; i < fleet->node_count; i++) {
		double limit = quartile_limit(&adaptive->history, i);
		const struct relief relief = { .target_limit = limit,
			.prefers = relief_least_memory };

		if (relief_load(&fleet->nodes[i]) > limit &&
			relief_best(out, fleet, i, &relief, options)) {
			return true;
		}
	}
	return false;
}

static bool next_regression(void *state, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *out)
{
	const struct relief relief = { .target_limit = fallback_limit,
		.prefers = relief_least_memory };

	for (size_t i = 0; i < fleet->node_count; i++) {
		if (is_rising_too_far(state, fleet, i) &&
			relief_best(out, fleet, i, &relief, options)) {
			return true;
		}
	}
	return false;
}

const struct move_policy interquartile_policy = {
	.name = "interquartile-range",
	.source =
		"CloudSim 3.0, "
		"PowerVmAllocationPolicyMigrationInterQuartileRange",
	.state_bytes = sizeof(struct adaptive),
	.observe = observe,
	.next = next_quartiles,
	.fini = fini,
};

const struct move_policy local_regression_policy = {
	.name = "local-regression",
	.source =
		"CloudSim 3.0, "
		"PowerVmAllocationPolicyMigrationLocalRegression",
	.state_bytes = sizeof(struct adaptive),
	.observe = observe,
	.next = next_regression,
	.fini = fini,
};
