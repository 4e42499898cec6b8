#include "scheduler/forecast/model.h"

#include <math.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "lib/memory.h"

static const struct model_prior prior = { MODEL_SHARE, MODEL_DEVIATION };
static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static struct model_vm steady(double vcpus, double cores, int seconds)
{
	struct model_vm vm = { .vcpus = vcpus };

	for (int at = 0; at < seconds; at += 10) {
		usage_add(&vm.usage, cores, 10);
	}
	return vm;
}

static void observe(struct model_vm *vm, double cores, double five_min_mean,
	int64_t end_us)
{
	model_observe(vm,
		&(struct model_sample){ cores, five_min_mean, NAN, end_us });
}

static double expected(const struct model_vm *vm)
{
	struct model_sum sum = { 0 };

	model_add(&sum, vm);
	return model_cores(&sum, prior);
}

static double variance_of(const struct model_vm *vm)
{
	struct model_sum sum = { 0 };

	model_add(&sum, vm);
	return model_variance(&sum, prior);
}

static void own_usage_gradually_replaces_the_peers(void **state)
{
	struct model_vm new = steady(8, 0, 0);
	struct model_vm known = steady(8, 6, 86400);
	double before = expected(&new);
	double before_variance = variance_of(&new);

	(void)state;
	assert_true(is_near(before, 8 * MODEL_SHARE));
	assert_true(is_near(before_variance,
		64 *
			(MODEL_DEVIATION * MODEL_DEVIATION +
				MODEL_VARIABILITY * MODEL_VARIABILITY)));
	for (int at = 10; at <= 86400; at += 10) {
		double now;

		usage_add(&new.usage, 6, 10);
		now = expected(&new);
		/* Monotonous and without a jump. */
		assert_true(now >= before && now - before < 0.2);
		assert_true(variance_of(&new) <= before_variance + 1e-12);
		before = now;
		before_variance = variance_of(&new);
	}
	assert_true(fabs(before - 6) < 0.15);
	assert_true(is_near(before, expected(&known)));
}

static void varying_use_has_a_higher_variance(void **state)
{
	struct model_vm steady_vm = steady(8, 2, 7200);
	struct model_vm varying_vm = { .vcpus = 8 };

	(void)state;
	for (int i = 0; i < 360; i++) {
		usage_add(&varying_vm.usage, 0, 10);
		usage_add(&varying_vm.usage, 4, 10);
	}
	assert_true(fabs(expected(&steady_vm) - expected(&varying_vm)) < 0.01);
	assert_true(variance_of(&varying_vm) > variance_of(&steady_vm) + 3);
}

static void the_prior_is_the_mean_of_the_observed_vms(void **state)
{
	struct model_sum cluster = { 0 };
	struct model_sum nobody = { 0 };
	struct model_prior observed;

	(void)state;
	observed = model_prior(&nobody);
	assert_true(is_near(observed.share, MODEL_SHARE));
	assert_true(is_near(observed.deviation, MODEL_DEVIATION));
	for (int i = 0; i < 990; i++) {
		struct model_vm vm = steady(4, 0.4, 3600);
		struct model_sum node = { 0 };

		model_add(&node, &vm);
		model_add_peers(&cluster, &node);
	}
	observed = model_prior(&cluster);
	assert_true(
		is_near(observed.share, (990 * 0.1 + 10 * MODEL_SHARE) / 1000));
	assert_true(observed.deviation < 0.05);
}

/* A repeated sample counts once, a gap counts as five minutes, and old usage
 * fades. */
static void counts_each_sample_once(void **state)
{
	struct model_vm vm = { .vcpus = 4, .observed_us = 0 };

	(void)state;
	observe(&vm, 1, NAN, 2 * second);
	observe(&vm, 3, NAN, 2 * second);
	observe(&vm, 3, NAN, 1 * second);
	assert_true(is_near(vm.usage.mean_cores, 1));
	assert_true(is_near(vm.usage.seconds, 2));
	observe(&vm, 4, 2, 1002 * second);
	assert_true(vm.usage.seconds < 302 && vm.usage.seconds > 301);
	assert_true(vm.usage.mean_cores > 1.98 && vm.usage.mean_cores < 2);
	observe(&vm, NAN, NAN, 1004 * second);
	observe(&vm, -1, NAN, 1006 * second);
	assert_true(vm.usage.mean_cores > 1.98 && vm.usage.mean_cores < 2);
}

/* 45 minutes, and the plain mean of less. */
static void recent_demand_follows_a_change_within_the_hour(void **state)
{
	struct model_vm vm = { .vcpus = 8 };

	(void)state;
	observe(&vm, 4, NAN, 20 * second);
	observe(&vm, 1, NAN, 30 * second);
	assert_true(is_near(vm.usage.recent_cores, 3));
	for (int64_t at = 330; at <= 9330; at += 300) {
		observe(&vm, 3, NAN, at * second);
	}
	assert_true(is_near(vm.usage.recent_cores, 3));
	observe(&vm, 6, NAN, 9630 * second);
	assert_true(is_near(vm.usage.recent_cores, 3 + 3.0 / 9));
	assert_true(is_near(vm.usage.recent_seconds, USAGE_RECENT_S));
}

static void waiting_counts_as_demand_up_to_the_vcpus(void **state)
{
	static const struct {
		double cores, contention, demand;
	} cases[] = { { 2, 0.5, 4 }, { 2, 0, 2 }, { 2, NAN, 2 }, { 4, 0.9, 8 },
		{ 4, 1, 8 }, { 9, 0.5, 9 }, { 2, -1, 2 } };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct model_vm vm = { .vcpus = 8 };

		model_observe(&vm,
			&(struct model_sample){ cases[i].cores, NAN,
				cases[i].contention, 10 * second });
		assert_true(is_near(vm.usage.recent_cores, cases[i].demand));
		assert_true(is_near(vm.usage.mean_cores, cases[i].cores));
	}
}

static void a_forecast_is_half_recent_and_half_long_term(void **state)
{
	struct model_vm vm = steady(8, 2, 86400);
	struct model_forecast f = model_forecast(&vm, prior);
	double expected_cores = expected(&vm);

	(void)state;
	/* Not observed lately. */
	assert_true(is_near(f.cores, expected_cores));
	assert_true(is_near(f.variance, variance_of(&vm)));
	assert_true(is_near(f.third, 8 * f.variance));
	vm.usage.recent_cores = 6;
	vm.usage.recent_seconds = USAGE_RECENT_S;
	f = model_forecast(&vm, prior);
	assert_true(is_near(f.cores, (expected_cores + 6) / 2));
}

static void a_new_vm_counts_as_a_peer_whatever_it_does(void **state)
{
	struct model_vm vm = { .vcpus = 8 };

	(void)state;
	assert_true(is_near(model_forecast(&vm, prior).cores, 8 * MODEL_SHARE));
	observe(&vm, 8, NAN, 100 * second);
	/* 3/4 peer; then half recent, half long-term of the rest. */
	assert_true(is_near(model_forecast(&vm, prior).cores,
		0.75 * 2 + 0.25 * (8 + (0.25 * 8 + 0.75 * 2)) / 2));
}

static void headroom_is_finite_and_falls_with_load_and_variance(void **state)
{
	static const double any[] = { -1e300, -1, 0, 1e-9, 1, 1e6, 1e300,
		INFINITY, -INFINITY, NAN };
	const size_t count = count_of(any);

	(void)state;
	assert_true(is_near(model_headroom(8, 0, 16),
		8 / (16 * MODEL_UNCERTAINTY)));
	assert_true(model_headroom(8, 1, 16) < model_headroom(8, 0, 16));
	assert_true(model_headroom(9, 1, 16) < model_headroom(8, 1, 16));
	assert_true(model_headroom(17, 0, 16) < 0);
	for (size_t i = 0; i < count * count * count; i++) {
		assert_true(isfinite(model_headroom(any[i % count],
			any[i / count % count], any[i / count / count])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_usage_gradually_replaces_the_peers),
		cmocka_unit_test(varying_use_has_a_higher_variance),
		cmocka_unit_test(the_prior_is_the_mean_of_the_observed_vms),
		cmocka_unit_test(counts_each_sample_once),
		cmocka_unit_test(
			recent_demand_follows_a_change_within_the_hour),
		cmocka_unit_test(waiting_counts_as_demand_up_to_the_vcpus),
		cmocka_unit_test(a_forecast_is_half_recent_and_half_long_term),
		cmocka_unit_test(a_new_vm_counts_as_a_peer_whatever_it_does),
		cmocka_unit_test(
			headroom_is_finite_and_falls_with_load_and_variance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
