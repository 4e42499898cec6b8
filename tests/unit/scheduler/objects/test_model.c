#include "scheduler/objects/model.h"

#include <math.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "lib/memory.h"

static const struct model_prior prior = { MODEL_SHARE, MODEL_SPREAD };
static const int64_t second = 1000000;

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static struct model_vm steady(double vcpus, double cores, int seconds)
{
	struct model_vm vm = { .vcpus = vcpus };

	for (int at = 0; at < seconds; at += 10) {
		profile_add(&vm.past, cores, 10);
	}
	return vm;
}

static double expected(const struct model_vm *vm)
{
	struct model_sum sum = { 0 };

	model_add(&sum, vm);
	return model_cores(&sum, prior);
}

static double doubt(const struct model_vm *vm)
{
	struct model_sum sum = { 0 };

	model_add(&sum, vm);
	return model_variance(&sum, prior);
}

static void a_new_vm_is_like_others_and_then_itself(void **state)
{
	struct model_vm new = steady(8, 0, 0);
	struct model_vm known = steady(8, 6, 86400);
	double before = expected(&new);
	double before_doubt = doubt(&new);

	(void)state;
	assert_true(is_near(before, 8 * MODEL_SHARE));
	assert_true(is_near(before_doubt,
		64 *
			(MODEL_SPREAD * MODEL_SPREAD +
				MODEL_RESTLESS * MODEL_RESTLESS)));
	for (int at = 10; at <= 86400; at += 10) {
		double now;

		profile_add(&new.past, 6, 10);
		now = expected(&new);
		/* Steadily, and nowhere at once. */
		assert_true(now >= before && now - before < 0.2);
		assert_true(doubt(&new) <= before_doubt + 1e-12);
		before = now;
		before_doubt = doubt(&new);
	}
	assert_true(fabs(before - 6) < 0.15);
	assert_true(is_near(before, expected(&known)));
}

static void a_restless_vm_is_less_certain(void **state)
{
	struct model_vm calm = steady(8, 2, 7200);
	struct model_vm restless = { .vcpus = 8 };

	(void)state;
	for (int i = 0; i < 360; i++) {
		profile_add(&restless.past, 0, 10);
		profile_add(&restless.past, 4, 10);
	}
	assert_true(fabs(expected(&calm) - expected(&restless)) < 0.01);
	assert_true(doubt(&restless) > doubt(&calm) + 3);
}

static void the_cluster_tells_what_vms_like_these_use(void **state)
{
	struct model_sum fleet = { 0 };
	struct model_sum nobody = { 0 };
	struct model_prior told;

	(void)state;
	told = model_prior(&nobody);
	assert_true(is_near(told.share, MODEL_SHARE));
	assert_true(is_near(told.spread, MODEL_SPREAD));
	for (int i = 0; i < 990; i++) {
		struct model_vm vm = steady(4, 0.4, 3600);
		struct model_sum node = { 0 };

		model_add(&node, &vm);
		model_tell(&fleet, &node);
	}
	told = model_prior(&fleet);
	assert_true(is_near(told.share, (990 * 0.1 + 10 * MODEL_SHARE) / 1000));
	assert_true(told.spread < 0.05);
}

/* Learning goes by time: what is said twice is learned once, a gap is worth
 * five minutes, and the past fades. */
static void learns_from_each_sample_once(void **state)
{
	struct model_vm vm = { .vcpus = 4, .learned_us = 0 };

	(void)state;
	model_learn(&vm, 1, NAN, 2 * second);
	model_learn(&vm, 3, NAN, 2 * second);
	model_learn(&vm, 3, NAN, 1 * second);
	assert_true(is_near(vm.past.mean_cores, 1));
	assert_true(is_near(vm.past.seconds, 2));
	model_learn(&vm, 4, 2, 1002 * second);
	assert_true(vm.past.seconds < 302 && vm.past.seconds > 301);
	assert_true(vm.past.mean_cores > 1.98 && vm.past.mean_cores < 2);
	model_learn(&vm, NAN, NAN, 1004 * second);
	model_learn(&vm, -1, NAN, 1006 * second);
	assert_true(vm.past.mean_cores > 1.98 && vm.past.mean_cores < 2);
}

static void room_is_finite_and_falls_with_load_and_doubt(void **state)
{
	static const double any[] = { -1e300, -1, 0, 1e-9, 1, 1e6, 1e300,
		INFINITY, -INFINITY, NAN };
	const size_t count = count_of(any);

	(void)state;
	assert_true(is_near(model_room(8, 0, 16), 8 / (16 * MODEL_DOUBT)));
	assert_true(model_room(8, 1, 16) < model_room(8, 0, 16));
	assert_true(model_room(9, 1, 16) < model_room(8, 1, 16));
	assert_true(model_room(17, 0, 16) < 0);
	for (size_t i = 0; i < count * count * count; i++) {
		assert_true(isfinite(model_room(any[i % count],
			any[i / count % count], any[i / count / count])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_vm_is_like_others_and_then_itself),
		cmocka_unit_test(a_restless_vm_is_less_certain),
		cmocka_unit_test(the_cluster_tells_what_vms_like_these_use),
		cmocka_unit_test(learns_from_each_sample_once),
		cmocka_unit_test(room_is_finite_and_falls_with_load_and_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
