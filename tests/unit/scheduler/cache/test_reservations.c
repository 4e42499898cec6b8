#include "scheduler/cache/reservations.h"

#include "tests/unit/scheduler/given.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)
#define GIB INT64_C(1073741824)

static struct cache cache;

static int setup(void **state)
{
	struct value *node = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'8',"
		"'memory':'16Gi','pods':'9'}}}");
	struct error err;
	bool changed;

	(void)state;
	cache_init(&cache);
	assert_int_equal(cache_put_node(&cache, &changed, node, NOW, &err), 0);
	value_free(node);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cache_fini(&cache);
	return 0;
}

/* Of 4 GiB, of the VM "vm". */
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

	return given_pod(cache.names, json);
}

static int64_t held(void)
{
	return cache_node(&cache, "n")->memory_bytes_requested / GIB;
}

static void a_temporary_pod_keeps_its_place_until_its_vm_has_one(void **state)
{
	struct pod *vm = make_pod("real", false, "n");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(places_keep(&cache, "temp", NOW));
	assert_int_equal(held(), 4);
	assert_false(places_expire(&cache, NOW + PLACES_KEEP_US - 1));
	places_settle(&cache, vm);
	cache_put_pod(&cache, vm, NOW);
	assert_int_equal(held(), 4);
	assert_false(places_expire(&cache, NOW + PLACES_KEEP_US));
	assert_int_equal(held(), 4);
}

static void it_does_not_count_against_the_vm_it_is_kept_for(void **state)
{
	struct pod *vm = make_pod("real", false, "");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(places_keep(&cache, "temp", NOW));
	places_lift(&cache, vm);
	assert_int_equal(held(), 0);
	places_return(&cache, vm);
	assert_int_equal(held(), 4);
	places_lift(&cache, vm);
	places_settle(&cache, vm);
	cache_assume(&cache, vm, "n", NOW);
	assert_int_equal(held(), 4);
}

static void what_is_lifted_at_the_end_is_freed(void **state)
{
	struct pod *vm = make_pod("real", false, "");
	(void)state;

	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(places_keep(&cache, "temp", NOW));
	places_lift(&cache, vm);
	pod_free(vm);
}

static void a_place_is_not_kept_for_ever(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(places_keep(&cache, "temp", NOW));
	assert_true(places_expire(&cache, NOW + PLACES_KEEP_US));
	assert_int_equal(held(), 0);
}

static void other_pods_keep_nothing(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("real", false, "n"), NOW);
	assert_false(places_keep(&cache, "real", NOW));
	assert_false(places_keep(&cache, "nobody", NOW));
}

static void a_temporary_pod_that_failed_keeps_nothing(void **state)
{
	(void)state;
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(places_keep(&cache, "temp", NOW));
	places_forget(&cache, "vm", "temp");
	assert_int_equal(held(), 0);
	/* The other way round. */
	cache_put_pod(&cache, make_pod("again", true, "n"), NOW);
	places_forget(&cache, "vm", "again");
	assert_false(places_keep(&cache, "again", NOW));
	assert_int_equal(held(), 0);
}

static void a_second_temporary_pod_takes_the_place_over(void **state)
{
	struct pod *second = make_pod("second", true, "n");
	(void)state;

	cache_put_pod(&cache, make_pod("first", true, "n"), NOW);
	assert_true(places_keep(&cache, "first", NOW));
	places_settle(&cache, second);
	cache_put_pod(&cache, second, NOW);
	assert_int_equal(held(), 4);
	assert_true(places_keep(&cache, "second", NOW));
	assert_int_equal(held(), 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_temporary_pod_keeps_its_place_until_its_vm_has_one),
		TEST(it_does_not_count_against_the_vm_it_is_kept_for),
		TEST(what_is_lifted_at_the_end_is_freed),
		TEST(a_place_is_not_kept_for_ever),
		TEST(other_pods_keep_nothing),
		TEST(a_temporary_pod_that_failed_keeps_nothing),
		TEST(a_second_temporary_pod_takes_the_place_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
