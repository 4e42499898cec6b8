#include "scheduler/cluster/node_metrics.h"

#include <math.h>

#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void combines_short_and_long_means(void **state)
{
	struct node_load load;

	(void)state;
	node_load_init(&load);
	assert_true(isnan(node_metrics_used_cores(&load)));
	load.cpu_used_cores = 3;
	assert_true(is_near(node_metrics_used_cores(&load), 3));
	load.cpu_used_cores_10s = 4;
	assert_true(is_near(node_metrics_used_cores(&load), 4));
	load.cpu_used_cores_5m = 2;
	assert_true(is_near(node_metrics_used_cores(&load), 3.5));
	load.cpu_used_cores_10s = 2;
	load.cpu_used_cores_5m = 4;
	assert_true(is_near(node_metrics_used_cores(&load), 3.5));
	load.cpu_stdev_cores_5m = 1;
	assert_true(is_near(node_metrics_used_cores(&load), 4));
	load.cpu_used_cores_10s = NAN;
	load.cpu_used_cores = NAN;
	assert_true(is_near(node_metrics_used_cores(&load), 4.5));
}

static void trusts_figures_less_as_they_age(void **state)
{
	struct node_load load = given_load(1, 0);
	struct node_metrics m = { 0 };

	(void)state;
	assert_true(is_near(node_metrics_trust(&m, 0), 0));
	assert_false(node_metrics_is_fresh(&m, 0));

	node_metrics_set(&m, &load, 100 * second);
	assert_true(is_near(node_metrics_trust(&m, 90 * second), 1));
	assert_true(is_near(node_metrics_trust(&m, 115 * second), 1));
	assert_true(node_metrics_is_fresh(&m, 115 * second));
	assert_false(node_metrics_is_fresh(&m, 115 * second + 1));
	assert_true(node_metrics_trust(&m, 116 * second) > 0.99);
	assert_true(is_near(node_metrics_trust(&m, 257500000), 0.5));
	assert_true(is_near(node_metrics_trust(&m, 400 * second), 0));

	load.interval_ms = 10000;
	node_metrics_set(&m, &load, 100 * second);
	assert_true(node_metrics_is_fresh(&m, 130 * second));
	assert_true(is_near(node_metrics_trust(&m, 130 * second), 1));
}

static void survives_absurd_intervals(void **state)
{
	struct node_load load = given_load(1, 0);
	struct node_metrics m;

	(void)state;
	load.interval_ms = UINT32_MAX;
	node_metrics_set(&m, &load, 0);
	assert_true(is_near(node_metrics_trust(&m, 299 * second), 1));
	assert_true(is_near(node_metrics_trust(&m, 300 * second), 0));
	assert_false(node_metrics_is_fresh(&m, 301 * second));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(combines_short_and_long_means),
		cmocka_unit_test(trusts_figures_less_as_they_age),
		cmocka_unit_test(survives_absurd_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
