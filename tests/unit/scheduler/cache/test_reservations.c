#include "scheduler/cache/reservations.h"

#include "tests/unit/scheduler/given.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)
#define GIB INT64_C(1073741824)

static struct cache cache;
static struct reservations reservations;

static void put_node(const char *name)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'status':{'allocatable':{'cpu':'8',"
		"'memory':'16Gi','pods':'9'}}}",
		name);
	struct json_value *node = given_json(json);
	struct error err;
	bool changed;

	assert_int_equal(cache_put_node(&cache, &changed, node, NOW, &err), 0);
	json_value_free(node);
}

static int setup(void **state)
{
	(void)state;
	cache_init(&cache);
	reservations_init(&reservations, &cache);
	put_node("n");
	put_node("m");
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
	(void)reservations_drop(&reservations, "d", "vm", "temp");
	assert_int_equal(held(), 0);
	/* In the other order. */
	cache_put_pod(&cache, make_pod("again", true, "n"), NOW);
	(void)reservations_drop(&reservations, "d", "vm", "again");
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

/* ---- orders ---- */

static int64_t held_on(const char *node)
{
	return cache_node(&cache, node)->memory_bytes_requested / GIB;
}

/* The VM's pod runs on n. A target has the label of its migration. */
static struct pod *make_launcher(const char *uid, const char *node,
	const char *phase, const char *label)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'d','uid':'%s','labels':"
		"{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':"
		"'vm'%s},'annotations':{'kubevirt.io/domain':'v'}},'spec':{"
		"'nodeName':'%s','affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'topologyKey':'kubernetes.io/hostname','labelSelector':{"
		"'matchLabels':{'a':'b'}}}]}},'containers':[{'name':'compute',"
		"'resources':{'requests':{'memory':'4Gi'}}}]},'status':{"
		"'phase':'%s'}}",
		uid, uid, label, node, phase);

	return given_pod(cache.interner, json);
}

static struct pod *make_source(void)
{
	return make_launcher("source", "n", "Running", "");
}

static struct pod *make_target(const char *node)
{
	return make_launcher("target", node, "Pending",
		",'kubevirt.io/migrationJobUID':'u'");
}

static void order(void)
{
	cache_put_pod(&cache, make_source(), NOW);
	assert_true(reservations_order(&reservations, "source", "m", NOW));
}

static void an_order_counts_on_both_nodes_until_the_target_is_bound(
	void **state)
{
	struct pod *target = make_target("m");
	(void)state;

	order();
	assert_int_equal(held_on("n"), 4);
	assert_int_equal(held_on("m"), 4);
	assert_int_equal(cache_node(&cache, "m")->vms.count, 1);
	assert_int_equal(cache.cluster.affinity_pod_count, 2);
	/* The source's pod changes, and hangs on to its node. */
	cache_put_pod(&cache, make_source(), NOW);
	reservations_settle(&reservations, cache_pod(&cache, "source"));
	assert_int_equal(held_on("m"), 4);
	reservations_settle(&reservations, target);
	cache_put_pod(&cache, target, NOW);
	assert_int_equal(held_on("m"), 4);
	assert_int_equal(cache.pods.count, 2);
}

static void an_order_does_not_count_against_its_target_pod(void **state)
{
	struct pod *target = make_target("");
	(void)state;

	order();
	reservations_suspend(&reservations, target);
	assert_int_equal(held_on("m"), 0);
	assert_int_equal(held_on("n"), 4);
	reservations_resume(&reservations, target);
	assert_int_equal(held_on("m"), 4);
	reservations_suspend(&reservations, target);
	reservations_settle(&reservations, target);
	cache_assume(&cache, target, "m", NOW);
	assert_int_equal(held_on("m"), 4);
}

static void an_order_ends_by_cancel_by_time_and_with_its_vm(void **state)
{
	(void)state;
	assert_false(reservations_cancel(&reservations, "d", "vm"));
	order();
	assert_true(reservations_cancel(&reservations, "d", "vm"));
	assert_int_equal(held_on("m"), 0);
	order();
	assert_false(reservations_expire(&reservations,
		NOW + RESERVATIONS_ORDER_US - 1));
	assert_true(reservations_renew(&reservations, "d", "vm", NOW + 1));
	assert_false(reservations_expire(&reservations,
		NOW + RESERVATIONS_ORDER_US));
	assert_true(reservations_expire(&reservations,
		NOW + RESERVATIONS_ORDER_US + 1));
	assert_false(reservations_renew(&reservations, "d", "vm", NOW + 1));
	assert_int_equal(held_on("m"), 0);
	order();
	assert_false(reservations_hold(&reservations, "source", NOW));
	assert_int_equal(held_on("m"), 0);
	order();
	assert_true(reservations_drop(&reservations, "d", "vm", "source"));
	assert_int_equal(held_on("m"), 0);
	assert_int_equal(held_on("n"), 0);
	assert_int_equal(reservations.by_vmi.count, 0);
}

static void an_order_is_of_one_namespace(void **state)
{
	(void)state;
	order();
	assert_false(reservations_renew(&reservations, "other", "vm", NOW));
	assert_false(reservations_cancel(&reservations, "other", "vm"));
	assert_int_equal(held_on("m"), 4);
}

static void a_vm_has_one_reservation(void **state)
{
	(void)state;
	order();
	assert_false(reservations_order(&reservations, "source", "n", NOW));
	assert_false(reservations_order(&reservations, "nobody", "m", NOW));
	/* A temporary pod neither ends the order nor holds room of its own. */
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	reservations_settle(&reservations, cache_pod(&cache, "temp"));
	assert_false(reservations_hold(&reservations, "temp", NOW));
	assert_int_equal(held_on("m"), 4);
	assert_true(cache_remove_pod(&cache, "temp"));
	assert_true(reservations_cancel(&reservations, "d", "vm"));
	/* The other way round. */
	cache_put_pod(&cache, make_pod("temp", true, "n"), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	assert_false(reservations_order(&reservations, "source", "m", NOW));
	assert_false(reservations_cancel(&reservations, "d", "vm"));
	assert_int_equal(held_on("n"), 8);
}

static void an_order_lasts_as_long_as_it_is_renewed(void **state)
{
	(void)state;
	assert_false(reservations_renew(&reservations, "d", "vm", NOW));
	order();
	assert_true(reservations_order(&reservations, "source", "m",
		NOW + 100 * SECOND));
	assert_false(reservations_expire(&reservations,
		NOW + RESERVATIONS_ORDER_US));
	assert_true(reservations_renew(&reservations, "d", "vm",
		NOW + 200 * SECOND));
	assert_false(reservations_expire(&reservations,
		NOW + 100 * SECOND + RESERVATIONS_ORDER_US));
	assert_int_equal(held_on("m"), 4);
	assert_true(reservations_expire(&reservations,
		NOW + 200 * SECOND + RESERVATIONS_ORDER_US));
	assert_int_equal(held_on("m"), 0);
}

/* The pod that took the VM's place is assumed on m. */
static struct pod *assume_target(void)
{
	struct pod *target = make_target("");

	order();
	reservations_suspend(&reservations, target);
	reservations_assume(&reservations, target);
	cache_assume(&cache, target, "m", NOW);
	return target;
}

static void an_order_counts_again_if_its_target_is_not_bound(void **state)
{
	struct pod *target;
	(void)state;

	(void)assume_target();
	assert_int_equal(held_on("m"), 4);
	assert_true(reservations_renew(&reservations, "d", "vm", NOW));
	assert_int_equal(held_on("m"), 4);
	target = cache_forget(&cache, "target");
	reservations_resume(&reservations, target);
	assert_int_equal(held_on("m"), 4);
	assert_true(reservations_cancel(&reservations, "d", "vm"));
	assert_int_equal(held_on("m"), 0);
	pod_free(target);
}

static void an_order_that_is_over_does_not_come_back(void **state)
{
	struct pod *target;
	(void)state;

	(void)assume_target();
	assert_true(reservations_cancel(&reservations, "d", "vm"));
	target = cache_forget(&cache, "target");
	reservations_resume(&reservations, target);
	assert_int_equal(held_on("m"), 0);
	pod_free(target);
}

/* A hotplugged volume has a pod of its own. */
static void a_pod_that_takes_no_place_leaves_the_order_alone(void **state)
{
	struct pod *volume = make_target("");
	(void)state;

	order();
	volume->is_launcher = false;
	volume->is_target = false;
	reservations_suspend(&reservations, volume);
	reservations_assume(&reservations, volume);
	cache_assume(&cache, volume, "n", NOW);
	reservations_settle(&reservations, volume);
	assert_int_equal(held_on("m"), 4);
}

static struct pod *elsewhere(struct pod *pod)
{
	free(pod->namespace);
	pod->namespace = xstrdup("elsewhere");
	return pod;
}

/* Anyone can put the label with a VMI's UID on a pod. */
static void pods_of_other_namespaces_have_no_part_in_an_order(void **state)
{
	struct pod *thief = elsewhere(make_target(""));
	struct pod *bound = elsewhere(make_target("m"));
	struct pod *target = make_target("");
	(void)state;

	order();
	assert_true(reservations_are_for(&reservations, target));
	assert_false(reservations_are_for(&reservations, thief));
	reservations_suspend(&reservations, thief);
	assert_int_equal(held_on("m"), 4);
	reservations_settle(&reservations, bound);
	assert_false(reservations_target_gone(&reservations, thief));
	assert_int_equal(held_on("m"), 4);
	assert_true(reservations_target_gone(&reservations, target));
	assert_int_equal(held_on("m"), 0);
	assert_false(reservations_are_for(&reservations, target));
	pod_free(thief);
	pod_free(bound);
	pod_free(target);
}

static void a_reservation_elsewhere_leaves_room_for_an_order(void **state)
{
	(void)state;
	cache_put_pod(&cache, elsewhere(make_pod("temp", true, "n")), NOW);
	assert_true(reservations_hold(&reservations, "temp", NOW));
	order();
	assert_int_equal(held_on("n"), 8);
	assert_int_equal(held_on("m"), 4);
	assert_true(reservations_cancel(&reservations, "d", "vm"));
	assert_false(reservations_cancel(&reservations, "d", "vm"));
	assert_int_equal(held_on("n"), 8);
}

static void a_copy_outlives_the_pod_it_was_copied_from(void **state)
{
	int64_t bound_us;
	struct pod *copy;
	(void)state;

	order();
	copy = cache_take_pod(&cache, "mv:source", &bound_us);
	cache_put_pod(&cache, copy, bound_us);
	assert_true(cache_remove_pod(&cache, "source"));
	/* The VM does not run in the copy. */
	assert_null(cache_migration_source(&cache, copy));
	copy = cache_take_pod(&cache, "mv:source", &bound_us);
	assert_string_equal(copy->vm_name, "v");
	assert_int_equal(copy->requests.memory_bytes / GIB, 4);
	assert_int_equal(copy->affinity.required_anti.count, 1);
	cache_put_pod(&cache, copy, bound_us);
	assert_int_equal(held_on("m"), 4);
}

static void the_usage_of_a_vm_travels_with_it(void **state)
{
	struct pod *source = make_source();
	struct pod *target = make_target("");
	(void)state;

	source->usage = (struct usage){ .seconds = 900,
		.mean_cores = 3,
		.square_cores = 9,
		.recent_seconds = 600,
		.recent_cores = 2 };
	cache_put_pod(&cache, source, NOW);
	assert_true(reservations_order(&reservations, "source", "m", NOW));
	assert_true(cache_usage(&cache, "mv:source").mean_cores >= 3);
	reservations_suspend(&reservations, target);
	assert_true(target->usage.mean_cores >= 3);
	/* An aggregator that observed the VM for longer knows better. */
	target->usage = (struct usage){ .seconds = 9000,
		.mean_cores = 1,
		.square_cores = 1 };
	reservations_suspend(&reservations, target);
	assert_true(target->usage.mean_cores <= 1);
	assert_float_equal(target->usage.recent_cores, 2, 0);
	assert_float_equal(target->usage.recent_seconds, 600, 0);
	pod_free(target);
}

/* 5 minutes in which the pod on m uses these cores. */
static int64_t observe_on_m(const struct pod *pod, double cores, int64_t from)
{
	const int64_t second = 1000000;
	struct vm_load vm = given_vm_load(pod, cores);
	struct node_load load = given_load(cores, 0);
	char name[] = "m";
	bool changed;
	int64_t at = from;

	load.name = name;
	load.vms = &vm;
	load.vm_count = 1;
	for (; at < from + 300 * second; at += 5 * second) {
		cache_put_load(&cache, &changed, &load, at, at);
	}
	return at;
}

static void the_idle_copy_of_a_vm_does_not_count_as_its_usage(void **state)
{
	const char label[] =
		",'kubevirt.io/migrationJobUID':'u'},'annotations'"
		":{'kubevirt.io/domain':'v','kubevirt.io/"
		"migration-target-ready-timestamp':'t'},'x':{'y':'z'";
	struct pod *target = make_target("m");
	int64_t at = NOW;
	(void)state;

	target->usage = (struct usage){ .seconds = 900,
		.mean_cores = 3,
		.square_cores = 9 };
	cache_put_pod(&cache, target, NOW);
	at = observe_on_m(target, 0, at);
	assert_true(cache_usage(&cache, "target").mean_cores >= 3);
	target = make_launcher("target", "m", "Running", label);
	assert_false(target->is_target);
	cache_put_pod(&cache, target, NOW);
	at = observe_on_m(target, 3, at);
	assert_float_equal(cache_usage(&cache, "target").mean_cores, 3, 0.1);
	assert_true(cache_usage(&cache, "target").seconds > 1000);
	(void)observe_on_m(target, 0, at);
	assert_true(cache_usage(&cache, "target").mean_cores < 2.9);
}

static void the_source_of_a_migration_is_found_by_its_vmi(void **state)
{
	struct pod *target = make_target("");
	(void)state;

	assert_null(cache_migration_source(&cache, target));
	cache_put_pod(&cache, make_target("m"), NOW);
	assert_null(cache_migration_source(&cache, target));
	cache_put_pod(&cache, make_source(), NOW);
	cache_put_pod(&cache, make_source(), NOW);
	assert_string_equal(cache_migration_source(&cache, target)->uid,
		"source");
	assert_null(cache_migration_source(&cache, elsewhere(target)));
	assert_true(cache_remove_pod(&cache, "source"));
	assert_true(cache_remove_pod(&cache, "target"));
	assert_int_equal(cache.vms.by_vmi.count, 0);
	pod_free(target);
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
		TEST(an_order_counts_on_both_nodes_until_the_target_is_bound),
		TEST(an_order_does_not_count_against_its_target_pod),
		TEST(an_order_ends_by_cancel_by_time_and_with_its_vm),
		TEST(an_order_is_of_one_namespace),
		TEST(a_vm_has_one_reservation),
		TEST(an_order_lasts_as_long_as_it_is_renewed),
		TEST(an_order_counts_again_if_its_target_is_not_bound),
		TEST(an_order_that_is_over_does_not_come_back),
		TEST(a_pod_that_takes_no_place_leaves_the_order_alone),
		TEST(pods_of_other_namespaces_have_no_part_in_an_order),
		TEST(a_reservation_elsewhere_leaves_room_for_an_order),
		TEST(a_copy_outlives_the_pod_it_was_copied_from),
		TEST(the_usage_of_a_vm_travels_with_it),
		TEST(the_idle_copy_of_a_vm_does_not_count_as_its_usage),
		TEST(the_source_of_a_migration_is_found_by_its_vmi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
