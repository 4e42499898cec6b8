#include "scheduler/cache/informers.h"

#include "scheduler/cache/reservations.h"
#include "tests/unit/scheduler/fake_cluster.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(only_the_target_of_an_ordered_move_goes_first),
		TEST(a_pod_of_another_namespace_ends_no_order),
		TEST(pods_of_vms_are_told_and_new_once_the_caches_are_synced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
