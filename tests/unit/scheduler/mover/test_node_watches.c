#include "scheduler/mover/node_watches.h"

#include "tests/unit/scheduler/given.h"

#include <math.h>

#define SECOND_US INT64_C(1000000)

static struct cache cache;
static struct node_watches watches;

static int setup(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'node-1'},'status':{'allocatable':{"
		"'cpu':'16','memory':'64Gi','pods':'110'}}}");
	bool changed;

	(void)state;
	watches = (struct node_watches){ 0 };
	cache_init(&cache);
	assert_int_equal(cache_put_node(&cache, &changed, object, 1, NULL), 0);
	json_value_free(object);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	node_watches_fini(&watches);
	cache_fini(&cache);
	return 0;
}

/* A load of the node with one VM. */
static void note(double node_cores, double vm_cores, int64_t second)
{
	static char name[] = "node-1";
	struct vm_load vm;
	struct node_load load = given_load(node_cores, 0);

	vm_load_init(&vm);
	vm.used_cores = vm_cores;
	load.name = name;
	load.vms = &vm;
	load.vm_count = 1;
	node_watches_note(&watches, &cache, &load, second * SECOND_US);
}

static void note_broken_kvm(int64_t second)
{
	static char name[] = "node-1";
	struct node_load load = given_load(1, 0);

	load.name = name;
	load.kvm_state = KVM_MISSING;
	node_watches_note(&watches, &cache, &load, second * SECOND_US);
}

static void assert_outside(double cores)
{
	double mean = node_watches_outside_vms(&watches, "node-1");

	assert_true(fabs(mean - cores) < 1e-9);
}

static bool is_sustained(int64_t second)
{
	return node_watches_is_sustained(&watches, "node-1",
		second * SECOND_US);
}

static void a_node_without_a_load_has_no_watch(void **state)
{
	(void)state;
	assert_null(node_watches_find(&watches, "node-1"));
	assert_null(node_watches_find(NULL, "node-1"));
	assert_true(isnan(node_watches_outside_vms(&watches, "node-1")));
	assert_true(isnan(node_watches_outside_vms(NULL, "node-1")));
	assert_false(is_sustained(0));
	node_watches_restart(&watches, "node-1", 0);
	node_watches_restart(NULL, "node-1", 0);
}

static void the_load_of_a_node_that_the_cache_does_not_know_is_ignored(
	void **state)
{
	(void)state;
	cache_remove_node(&cache, "node-1");
	note(1, 0, 100);
	assert_null(node_watches_find(&watches, "node-1"));
}

static void the_watch_of_a_node_that_left_the_cache_is_forgotten(void **state)
{
	(void)state;
	note(1, 0, 100);
	node_watches_expire(&watches, &cache);
	assert_non_null(node_watches_find(&watches, "node-1"));
	cache_remove_node(&cache, "node-1");
	node_watches_expire(&watches, &cache);
	assert_null(node_watches_find(&watches, "node-1"));
}

static void the_use_outside_vms_is_the_mean_over_time(void **state)
{
	(void)state;
	note(5, 3, 1000);
	assert_outside(2);
	note(8, 2, 1060);
	assert_outside(4);
	note(10, 0, 1090);
	assert_outside(4 + 30.0 / 150 * 6);
}

static void a_load_speaks_for_a_minute_at_most(void **state)
{
	(void)state;
	note(2, 0, 1000);
	note(6, 0, 9000);
	assert_outside(4);
}

static void older_use_outside_vms_fades(void **state)
{
	(void)state;
	for (int64_t second = 1000; second < 1000 + 60 * 60; second += 60) {
		note(2, 0, second);
	}
	assert_outside(2);
	note(17, 0, 1000 + 60 * 60);
	assert_outside(2 + 60 / NODE_WATCHES_OUTSIDE_S * 15);
}

static void an_older_load_and_unknown_use_change_no_mean(void **state)
{
	(void)state;
	note(NAN, 0, 900);
	assert_true(isnan(node_watches_outside_vms(&watches, "node-1")));
	note(2, NAN, 1000);
	assert_outside(2);
	note(9, 0, 1000);
	note(9, 0, 999);
	note(NAN, 0, 1030);
	assert_outside(2);
}

static void a_broken_kvm_is_sustained_after_two_minutes_and_anew_after_a_move(
	void **state)
{
	(void)state;
	for (int64_t second = 1000; second <= 1120; second += 10) {
		note_broken_kvm(second);
		assert_int_equal(is_sustained(second), second == 1120);
	}
	node_watches_restart(&watches, "node-1", 1120 * SECOND_US);
	assert_false(is_sustained(1120));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_node_without_a_load_has_no_watch),
		test(the_load_of_a_node_that_the_cache_does_not_know_is_ignored),
		test(the_watch_of_a_node_that_left_the_cache_is_forgotten),
		test(the_use_outside_vms_is_the_mean_over_time),
		test(a_load_speaks_for_a_minute_at_most),
		test(older_use_outside_vms_fades),
		test(an_older_load_and_unknown_use_change_no_mean),
		test(a_broken_kvm_is_sustained_after_two_minutes_and_anew_after_a_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
