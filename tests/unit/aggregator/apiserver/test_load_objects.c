#include "aggregator/apiserver/load_objects.h"

#include "proto/kvm_state.h"
#include "tests/support/cm.h"

#include <math.h>
#include <string.h>

#define WALL_US UINT64_C(1790000000000000)

static struct vm_object vm;

/* The source and the target of a VM that moves. */
static int setup(void **state)
{
	(void)state;
	vm = (struct vm_object){ .pod_list = { .count = 2 } };
	for (int i = 0; i < 2; i++) {
		vm_load_init(&vm.pods[i].load);
	}
	vm.pods[0].node_name = "node-1";
	vm.pods[0].state = "Stale";
	vm.pods[0].age_seconds = 20;
	vm.pods[1].node_name = "node-2";
	vm.pods[1].state = "Fresh";
	vm.pods[1].age_seconds = 1;
	return 0;
}

static void what_both_pods_use_is_added(void **state)
{
	struct vm_load *a = &vm.pods[0].load, *b = &vm.pods[1].load;

	(void)state;
	a->used_cores = 1;
	b->used_cores = 2;
	a->used_cores_5m = 3;
	b->used_cores_5m = 4;
	a->memory_bytes = 10;
	b->memory_bytes = 20;
	a->swap_bytes = 100;
	b->swap_bytes = 200;
	vm_object_end(&vm, WALL_US);
	assert_true(vm.load.used_cores == 3);
	assert_true(vm.load.used_cores_5m == 7);
	assert_true(vm.load.memory_bytes == 30);
	assert_true(vm.load.swap_bytes == 300);
}

static void an_unknown_use_is_no_use_unless_both_are_unknown(void **state)
{
	(void)state;
	vm.pods[0].load.used_cores = 1;
	vm.pods[1].load.memory_bytes = 5;
	vm_object_end(&vm, WALL_US);
	assert_true(vm.load.used_cores == 1);
	assert_true(vm.load.memory_bytes == 5);
	assert_true(isnan(vm.load.swap_bytes));
}

static void the_worst_wait_of_the_pods_counts(void **state)
{
	struct vm_load *a = &vm.pods[0].load, *b = &vm.pods[1].load;

	(void)state;
	a->contention = 0.5;
	b->contention = 0.25;
	a->memory_pressure = 0.125;
	b->memory_pressure = 0.25;
	b->io_pressure = 0.75;
	vm_object_end(&vm, WALL_US);
	assert_true(vm.load.contention == 0.5);
	assert_true(vm.load.memory_pressure == 0.25);
	assert_true(vm.load.io_pressure == 0.75);
}

static void the_source_says_where_and_when(void **state)
{
	(void)state;
	vm_object_end(&vm, WALL_US);
	assert_string_equal(vm.node_name, "node-1");
	assert_string_equal(vm.state, "Stale");
	assert_true(vm.age_seconds == 20);
	assert_int_equal(vm.timestamp_us, WALL_US - 20000000);
	assert_ptr_equal(vm.pod_list.items, vm.pods);
}

static void a_state_has_a_word(void **state)
{
	(void)state;
	assert_string_equal(load_state_word(LOAD_FRESH), "Fresh");
	assert_string_equal(load_state_word(LOAD_STALE), "Stale");
	assert_string_equal(load_state_word(LOAD_LOST), "Lost");
}

#define test(name) cmocka_unit_test_setup(name, setup)

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
		test(what_both_pods_use_is_added),
		test(an_unknown_use_is_no_use_unless_both_are_unknown),
		test(the_worst_wait_of_the_pods_counts),
		test(the_source_says_where_and_when),
		test(a_state_has_a_word),
		cmocka_unit_test(the_largest_share_is_the_hottest),
		cmocka_unit_test(without_figures_nothing_is_hot),
		cmocka_unit_test(a_share_is_never_above_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
