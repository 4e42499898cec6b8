#include "scheduler/cache/informers.h"

#include "scheduler/cache/reservations.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/fake_cluster.h"

#include <math.h>

static struct {
	struct cache cache;
	struct reservations reservations;
	struct queue queue;
	struct informers *informers;
	unsigned launchers, new_launchers, gone;
} scene;

static void ignore(void *owner)
{
	(void)owner;
}

static void count_launcher(void *owner, const struct reflector_id *id,
	const struct json_value *pod, bool is_new)
{
	(void)owner;
	(void)id;
	(void)pod;
	scene.launchers++;
	scene.new_launchers += is_new;
}

static void count_gone(void *owner, const char *uid)
{
	(void)owner;
	(void)uid;
	scene.gone++;
}

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&scene, 0, sizeof(scene));
	cache_init(&scene.cache);
	reservations_init(&scene.reservations, &scene.cache);
	queue_init(&scene.queue);
	scene.informers = informers_new(NULL,
		&(struct informers_options){ .cache = &scene.cache,
			.reservations = &scene.reservations,
			.queue = &scene.queue,
			.scheduler_name = "s",
			.on_change = ignore,
			.on_launcher = count_launcher,
			.on_pod_gone = count_gone,
			.on_synced = ignore });
	return 0;
}

static int end(void **state)
{
	(void)state;
	informers_close(scene.informers);
	queue_fini(&scene.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

static void deliver_launcher(const char *name, const char *namespace,
	const char *labels, const char *spec, const char *phase)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'%s','namespace':'%s',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi'%s},'annotations':{"
		"'kubevirt.io/domain':'v','kubevirt.io/migrationJobName':"
		"'plimsoll-1'}},'spec':{'schedulerName':'s'%s,'containers':[{"
		"'name':'compute','resources':{'requests':{'cpu':'1'}}}]},"
		"'status':{'phase':'%s'}}",
		name, name, namespace, labels, spec, phase);

	deliver(&world.pods, name, text);
}

static void deliver_target(const char *name, const char *namespace)
{
	deliver_launcher(name, namespace, ",'kubevirt.io/migrationJobUID':'u'",
		"", "Pending");
}

static void order_move(void)
{
	deliver_node("n1");
	deliver_node("n2");
	deliver_synced();
	deliver_launcher("source", "default", "", ",'nodeName':'n1'",
		"Running");
	assert_true(reservations_order(&scene.reservations, "source", "n2", 1));
}

static int64_t reserved(void)
{
	return cache_node(&scene.cache, "n2")->cpu_milli_requested;
}

static void only_the_target_of_an_ordered_move_goes_first(void **state)
{
	(void)state;
	order_move();
	deliver_target("fake", "elsewhere");
	assert_int_equal(scene.queue.moves, 0);
	deliver_target("target", "default");
	assert_int_equal(scene.queue.moves, 1);
	assert_true(queue_find(&scene.queue, "target")->is_move);
}

static void a_pod_of_another_namespace_ends_no_order(void **state)
{
	(void)state;
	order_move();
	deliver_target("fake", "elsewhere");
	deliver_deleted(&world.pods, "fake");
	assert_int_equal(reserved(), 1000);
	deliver_launcher("fake", "elsewhere", "", ",'nodeName':'n1'",
		"Running");
	assert_int_equal(reserved(), 1000);
	deliver_target("target", "default");
	deliver_deleted(&world.pods, "target");
	assert_int_equal(reserved(), 0);
}

static void pods_of_vms_are_told_and_new_once_the_caches_are_synced(
	void **state)
{
	(void)state;
	deliver_launcher("old", "default", "", "", "Pending");
	assert_int_equal(scene.launchers, 1);
	assert_int_equal(scene.new_launchers, 0);
	deliver_synced();
	deliver_launcher("bound", "default", "", ",'nodeName':'n1'", "Running");
	assert_int_equal(scene.new_launchers, 1);
	deliver_pod("no-vm", "1", "x");
	assert_int_equal(scene.launchers, 2);
	deliver_deleted(&world.pods, "bound");
	assert_int_equal(scene.gone, 1);
}

/* A pod of this scheduler that looks for a node beside app=web. */
static void deliver_waiting(void)
{
	deliver(&world.pods, "waits",
		"{'metadata':{'name':'waits','uid':'waits','namespace':"
		"'default'},'spec':{'schedulerName':'s','containers':[],"
		"'affinity':{'podAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'topologyKey':'kubernetes.io/hostname','labelSelector':{"
		"'matchLabels':{'app':'web'}}}]}}},"
		"'status':{'phase':'Pending'}}");
}

/* Whether a bound pod as it is now wakes the pod that waits. */
static bool wakes(const char *node, const char *labels, const char *more)
{
	struct queued_pod *waits = queue_find(&scene.queue, "waits");
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'bound','uid':'bound','namespace':"
		"'default','labels':{%s}},'spec':{'nodeName':'%s',"
		"'containers':[]},'status':{'phase':'Running'%s}}",
		labels, node, more);

	queue_set(&scene.queue, waits, QUEUED_UNSCHEDULABLE);
	deliver(&world.pods, "bound", text);
	return waits->state == QUEUED_READY;
}

static void only_what_others_see_of_a_bound_pod_wakes_them(void **state)
{
	(void)state;
	deliver_node("n1");
	deliver_synced();
	deliver_waiting();
	assert_true(wakes("n1", "'app':'web'", ""));
	assert_false(wakes("n1", "'app':'web'", ""));
	assert_false(wakes("n1", "'app':'web'", ",'podIP':'10.0.0.1'"));
	assert_true(wakes("n1", "'app':'api'", ""));
	assert_true(wakes("n1", "'app':'api','tier':'x'", ""));
	assert_true(wakes("n1", "'app':'api'", ""));
	assert_false(wakes("n1", "'app':'api'", ""));
	assert_true(wakes("n2", "'app':'api'", ""));
}

/* A pod without affinity waits for room. */
static void a_bound_pod_that_shrinks_wakes_all(void **state)
{
	static const struct {
		const char *cpu, *memory;
		bool wakes;
	} cases[] = {
		{ "2", "2Gi", false },
		{ "1", "2Gi", true },
		{ "1", "2Gi", false },
		{ "1", "1Gi", true },
		{ "2", "1Gi", false },
	};
	struct queued_pod *waits;

	(void)state;
	deliver_node("n1");
	deliver_synced();
	deliver_pod("waits", "1", "s");
	waits = queue_find(&scene.queue, "waits");
	assert_non_null(waits);
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text = xasprintf(
			"{'metadata':{'name':'bound','uid':'bound',"
			"'namespace':'default'},'spec':{'nodeName':'n1',"
			"'containers':[{'name':'c','resources':{'requests':{"
			"'cpu':'%s','memory':'%s'}}}]},"
			"'status':{'phase':'Running'}}",
			cases[i].cpu, cases[i].memory);

		queue_set(&scene.queue, waits, QUEUED_UNSCHEDULABLE);
		deliver(&world.pods, "bound", text);
		assert_int_equal(waits->state == QUEUED_READY, cases[i].wakes);
	}
}

static void the_confirmed_binding_of_an_assumed_pod_wakes_others(void **state)
{
	struct pod *pod;

	(void)state;
	deliver_node("n1");
	deliver_synced();
	deliver_waiting();
	pod = given_pod(scene.cache.interner,
		"{'metadata':{'name':'bound','uid':'bound','namespace':"
		"'default','labels':{'app':'web'}},'spec':{'containers':[]},"
		"'status':{'phase':'Pending'}}");
	cache_assume(&scene.cache, pod, "n1", 0);
	assert_true(wakes("n1", "'app':'web'", ""));
	assert_false(wakes("n1", "'app':'web'", ""));
}

static void the_cache_is_as_old_as_the_last_word_of_its_quietest_watch(
	void **state)
{
	struct reflector *watches[OTHERS_MAX + 3] = { &world.nodes, &world.pods,
		&world.failed };
	size_t count = 3;

	(void)state;
	for (size_t i = 0; i < world.other_count; i++) {
		watches[count++] = &world.others[i];
	}
	fake_clock_set(200000000, 0);
	for (size_t i = 0; i < count; i++) {
		watches[i]->contact_us = 200000000;
	}
	assert_true(isnan(informers_age_s(scene.informers)));
	deliver_synced();
	assert_true(informers_age_s(scene.informers) == 0);
	for (size_t i = 0; i < count; i++) {
		watches[i]->contact_us = 187500000;
		assert_true(informers_age_s(scene.informers) == 12.5);
		watches[i]->contact_us = 200000000;
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(only_the_target_of_an_ordered_move_goes_first),
		TEST(a_pod_of_another_namespace_ends_no_order),
		TEST(pods_of_vms_are_told_and_new_once_the_caches_are_synced),
		TEST(only_what_others_see_of_a_bound_pod_wakes_them),
		TEST(the_cache_is_as_old_as_the_last_word_of_its_quietest_watch),
		TEST(a_bound_pod_that_shrinks_wakes_all),
		TEST(the_confirmed_binding_of_an_assumed_pod_wakes_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
