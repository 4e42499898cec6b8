#include "aggregator/apiserver/heat.h"

#include "proto/kvm_state.h"
#include "tests/support/cm.h"

#include <math.h>

static struct node_load load_with_kvm(void)
{
	struct node_load load;

	node_load_init(&load);
	load.kvm_state = KVM_OK;
	return load;
}

static void the_largest_share_is_the_hottest(void **state)
{
	struct node_load load = load_with_kvm();

	(void)state;
	load.cpu_cores = 10;
	load.cpu_used_cores_10s = 6;
	load.memory_total_bytes = 100;
	load.memory_available_bytes = 50;
	load.io_pressure_full_60s = 0.1;
	assert_string_equal(heat_of(&load).resource, "cpu");
	assert_float_equal(heat_of(&load).share, 0.6, 1e-9);
	load.memory_available_bytes = 30;
	assert_string_equal(heat_of(&load).resource, "memory");
	load.io_pressure_full_60s = 0.8;
	assert_string_equal(heat_of(&load).resource, "io");
	load.cpu_contention = 0.9;
	assert_string_equal(heat_of(&load).resource, "cpu");
	load.kvm_state = KVM_MISSING;
	assert_string_equal(heat_of(&load).resource, "kvm");
}

static void without_figures_nothing_is_hot(void **state)
{
	struct node_load load = load_with_kvm();

	(void)state;
	assert_null(heat_of(&load).resource);
	assert_true(isnan(heat_of(&load).share));
}

static void a_share_is_never_above_one(void **state)
{
	struct node_load load = load_with_kvm();

	(void)state;
	load.cpu_cores = 1;
	load.cpu_used_cores_10s = 1.2;
	assert_float_equal(heat_of(&load).share, 1, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_share_is_the_hottest),
		cmocka_unit_test(without_figures_nothing_is_hot),
		cmocka_unit_test(a_share_is_never_above_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
