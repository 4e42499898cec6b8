#include "scheduler/cache/reservations.h"

#include "tests/unit/scheduler/given.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)
#define GIB INT64_C(1073741824)

static struct cache cache;
static struct reservations reservations;

static int setup(void **state)
{
	struct json_value *node = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'8',"
		"'memory':'16Gi','pods':'9'}}}");
	struct error err;
	bool changed;

	(void)state;
	cache_init(&cache);
	reservations_init(&reservations, &cache);
	assert_int_equal(cache_put_node(&cache, &changed, node, NOW, &err), 0);
	json_value_free(node);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reservations_fini(&reservations);
	cache_fini(&cache);
	return 0;
}

/* A pod of 4 GiB of the VM "vm". */
static struct pod *make_pod(const char *uid, bool is_provisional,
	const char *node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'d','uid':'%s','labels':"
		"{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':"
		"'vm'},'annotations':{%s}},'spec':{'nodeName':'%s',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'memory':'4Gi'}}}]}}",
		uid, uid,
		is_provisional ? "'kubevirt.io/ephemeral-provisioning':'true'"
			       : "",
		node);

	return given_pod(cache.interner, json);
}

static int64_t held(void)
{
	return cache_node(&cache, "n")->memory_bytes_requested / GIB;
}

static void a_temporary_pod_counts_until_its_vm_has_a_node(void **state)
{
	struct pod *vm = make_pod("real", false, "n");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	assert_int_equal(held(), 4);
	assert_false(reservations_expire(&reservations,
		NOW + RESERVATIONS_HOLD_US - 1));
	reservations_settle(&reservations, vm);
	cache_put_pod(&cache, vm, NOW);
	assert_int_equal(held(), 4);
	assert_false(
		reservations_expire(&reservations, NOW + RESERVATIONS_HOLD_US));
	assert_int_equal(held(), 4);
}

static void a_reservation_does_not_count_against_its_vm(void **state)
{
	struct pod *vm = make_pod("real", false, "");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	reservations_suspend(&reservations, vm);
	assert_int_equal(held(), 0);
	reservations_resume(&reservations, vm);
	assert_int_equal(held(), 4);
	reservations_suspend(&reservations, vm);
	reservations_settle(&reservations, vm);
	cache_assume(&cache, vm, "n", NOW);
	assert_int_equal(held(), 4);
}

static void frees_a_suspended_reservation(void **state)
{
	struct pod *vm = make_pod("real", false, "");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	reservations_suspend(&reservations, vm);
	pod_free(vm);
}

static void a_reservation_expires(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	assert_true(
		reservations_expire(&reservations, NOW + RESERVATIONS_HOLD_US));
	assert_int_equal(held(), 0);
}

static void other_pods_hold_no_reservation(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("real", false, "n"), NOW);
	assert_false(reservations_hold(&reservations, "real", NOW));
	assert_false(reservations_hold(&reservations, "nobody", NOW));
}

static void a_failed_temporary_pod_holds_no_reservation(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	(void)reservations_drop(&reservations, "vm", "temp");
	assert_int_equal(held(), 0);
	/* In the other order. */
	cache_put_pod(&cache, make_pod("again", true, "n"), NOW);
	(void)reservations_drop(&reservations, "vm", "again");
	assert_false(reservations_hold(&reservations, "again", NOW));
	assert_int_equal(held(), 0);
}

static void a_second_temporary_pod_takes_over_the_reservation(void **state)
{
	struct pod *second = make_pod("second", true, "n");
	(void)state;

	cache_put_pod(&cache, make_pod("first", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "first", NOW));
	reservations_settle(&reservations, second);
	cache_put_pod(&cache, second, NOW);
	assert_int_equal(held(), 4);
	assert_true(reservations_hold(&reservations, "second", NOW));
	assert_int_equal(held(), 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_temporary_pod_counts_until_its_vm_has_a_node),
		TEST(a_reservation_does_not_count_against_its_vm),
		TEST(frees_a_suspended_reservation),
		TEST(a_reservation_expires),
		TEST(other_pods_hold_no_reservation),
		TEST(a_failed_temporary_pod_holds_no_reservation),
		TEST(a_second_temporary_pod_takes_over_the_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
