#include "scheduler/cache/cache.h"

#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000)

struct world {
	struct cache cache;
};

static int setup(void **state)
{
	static struct world world;

	cache_init(&world.cache);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	cache_fini(&world->cache);
	return 0;
}

static struct json_value *parse(const char *text)
{
	struct json_value *value = NULL;

	assert_int_equal(json_value_parse(&value, text, strlen(text), NULL), 0);
	return value;
}

/* Returns whether that may let a pending pod fit. */
static bool put_node(struct world *world, const char *name, const char *cpu,
	const char *heartbeat)
{
	scoped_free char *text = xasprintf(
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"a\":\"b\"}},"
		"\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"%s\","
		"\"memory\":\"8Gi\",\"pods\":\"110\"},\"conditions\":[{"
		"\"lastHeartbeatTime\":\"%s\"}]}}",
		name, cpu, heartbeat);
	struct json_value *object = parse(text);
	bool changed = false;

	assert_int_equal(
		cache_put_node(&world->cache, &changed, object, 0, NULL), 0);
	json_value_free(object);
	return changed;
}

static struct pod *make_pod(struct world *world, const char *uid,
	const char *node)
{
	scoped_free char *text = xasprintf(
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":"
		"\"%s\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
		"\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":"
		"\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
		uid, uid, node);
	struct json_value *object = parse(text);
	struct pod *pod = NULL;

	assert_int_equal(pod_new(&pod, world->cache.interner, object,
				 POD_SCHEDULED, NULL),
		0);
	json_value_free(object);
	return pod;
}

static const struct node *node_called(const struct world *world,
	const char *name)
{
	for (size_t i = 0; i < world->cache.cluster.count; i++) {
		if (strcmp(world->cache.cluster.nodes[i]->name, name) == 0) {
			return world->cache.cluster.nodes[i];
		}
	}
	return NULL;
}

static int64_t requested(const struct world *world, const char *node)
{
	return node_called(world, node)->cpu_milli_requested;
}

static void more_cpu_is_a_change_but_a_heartbeat_is_not(void **state)
{
	struct world *world = *state;

	assert_true(put_node(world, "a", "4", "1"));
	assert_false(put_node(world, "a", "4", "2"));
	assert_true(put_node(world, "a", "8", "2"));
	assert_int_equal(world->cache.cluster.count, 1);
	assert_int_equal(node_called(world, "a")->cpu_milli, 8000);
}

static void pods_may_arrive_before_their_node(void **state)
{
	struct world *world = *state;

	cache_put_pod(&world->cache, make_pod(world, "p", "a"), 0);
	put_node(world, "a", "4", "1");
	assert_int_equal(requested(world, "a"), 1000);
	cache_remove_node(&world->cache, "a");
	put_node(world, "a", "4", "1");
	assert_int_equal(requested(world, "a"), 1000);
}

static void an_assumed_pod_counts_once_and_is_confirmed(void **state)
{
	struct world *world = *state;

	put_node(world, "a", "4", "1");
	cache_assume(&world->cache, make_pod(world, "p", ""), "a", SECOND);
	assert_int_equal(requested(world, "a"), 1000);
	assert_true(cache_is_assumed(&world->cache, "p"));
	cache_put_pod(&world->cache, make_pod(world, "p", "a"), 9 * SECOND);
	assert_int_equal(requested(world, "a"), 1000);
	assert_false(cache_is_assumed(&world->cache, "p"));
	assert_null(cache_forget(&world->cache, "p"));
	assert_int_equal(requested(world, "a"), 1000);
}

static void a_forgotten_pod_is_returned_and_counts_no_more(void **state)
{
	struct world *world = *state;
	struct pod *pod;

	put_node(world, "a", "4", "1");
	cache_assume(&world->cache, make_pod(world, "p", ""), "a", 0);
	pod = cache_forget(&world->cache, "p");
	assert_string_equal(pod->uid, "p");
	pod_free(pod);
	assert_int_equal(requested(world, "a"), 0);
	assert_null(cache_pod(&world->cache, "p"));
}

static void a_pod_bound_elsewhere_follows_the_api_server(void **state)
{
	struct world *world = *state;

	put_node(world, "a", "4", "1");
	put_node(world, "b", "4", "1");
	cache_assume(&world->cache, make_pod(world, "p", ""), "a", 0);
	cache_put_pod(&world->cache, make_pod(world, "p", "b"), 0);
	assert_int_equal(requested(world, "a"), 0);
	assert_int_equal(requested(world, "b"), 1000);
	assert_true(cache_remove_pod(&world->cache, "p"));
	assert_false(cache_remove_pod(&world->cache, "p"));
	assert_int_equal(requested(world, "b"), 0);
}

static void updates_of_a_vms_pod_keep_its_usage(void **state)
{
	struct world *world = *state;
	struct pod *vm = make_pod(world, "u", "");

	(void)put_node(world, "a", "8", "");
	vm->is_vm = true;
	vm->vcpus = 2;
	vm->usage = (struct usage){ .seconds = 600,
		.mean_cores = 1.5,
		.square_cores = 2.5 };
	cache_assume(&world->cache, vm, "a", 0);
	vm = make_pod(world, "u", "a");
	vm->is_vm = true;
	vm->vcpus = 2;
	cache_put_pod(&world->cache, vm, 0);
	assert_true(node_vms_model(&node_called(world, "a")->vms, "u")
			    ->usage.seconds > 599);
	assert_true(vm->usage.mean_cores > 1.4);
}

static void put_load(struct world *world, bool *changed, double used,
	enum kvm_state kvm, int64_t sample_us)
{
	char name[] = "a";
	struct node_load load;

	node_load_init(&load);
	load.name = name;
	load.interval_ms = 2000;
	load.kvm_state = kvm;
	load.cpu_cores = 4;
	load.cpu_used_cores_10s = used;
	cache_put_load(&world->cache, changed, &load, sample_us, 100 * SECOND);
}

static struct pod *make_vm(struct world *world)
{
	struct pod *vm = make_pod(world, "u", "a");

	vm->is_vm = true;
	vm->vcpus = 4;
	return vm;
}

/* Otherwise the VM would count as starting until the next load, and its
 * observed time would count twice. */
static void a_measured_vm_stays_measured_when_its_pod_changes(void **state)
{
	struct world *world = *state;
	char name[] = "a";
	struct node_load load;
	struct vm_load seen;
	bool changed;

	vm_load_init(&seen);
	strcpy(seen.pod_uid, "u");
	seen.used_cores = 3;
	node_load_init(&load);
	load.name = name;
	load.vms = &seen;
	load.vm_count = 1;
	(void)put_node(world, "a", "8", "");
	cache_put_load(&world->cache, &changed, &load, 400 * SECOND,
		401 * SECOND);
	for (int i = 0; i < 3; i++) {
		const struct node_vms *vms;

		cache_put_pod(&world->cache, make_vm(world), 0);
		vms = &node_called(world, "a")->vms;
		assert_true(vms->seen.seen_cores == 3);
		assert_true(vms->unseen.by_prior == 0);
		assert_true(vms->list[0].model.usage.seconds > 299);
		assert_true(vms->list[0].model.usage.seconds < 301);
	}
}

static void the_newest_load_counts(void **state)
{
	struct world *world = *state;
	bool changed = false;

	put_load(world, &changed, 1.0, KVM_OK, 90 * SECOND);
	assert_true(changed);
	put_node(world, "a", "4", "1");
	assert_true(node_called(world, "a")->metrics.used_cores == 1.0);
	put_load(world, &changed, 3.0, KVM_OK, 80 * SECOND);
	assert_false(changed);
	assert_true(node_called(world, "a")->metrics.used_cores == 1.0);
	put_load(world, &changed, 2.0, KVM_OK, 95 * SECOND);
	assert_false(changed);
	assert_true(node_called(world, "a")->metrics.used_cores == 2.0);
	put_load(world, &changed, 2.0, KVM_MISSING, 96 * SECOND);
	assert_true(changed);
	assert_int_equal(cache_fresh_loads(&world->cache, 100 * SECOND), 1);
	assert_int_equal(cache_fresh_loads(&world->cache, 200 * SECOND), 0);
}

static void only_nodes_have_a_load_once_all_nodes_are_known(void **state)
{
	struct world *world = *state;
	bool changed = true;

	put_load(world, &changed, 1.0, KVM_OK, 90 * SECOND);
	assert_int_equal(world->cache.loads.count, 1);
	cache_set_complete(&world->cache);
	assert_int_equal(world->cache.loads.count, 0);
	put_load(world, &changed, 1.0, KVM_OK, 91 * SECOND);
	assert_int_equal(world->cache.loads.count, 0);
	assert_false(changed);
	put_node(world, "a", "4", "1");
	put_load(world, &changed, 1.0, KVM_OK, 92 * SECOND);
	assert_int_equal(world->cache.loads.count, 1);
	cache_remove_node(&world->cache, "a");
	assert_int_equal(world->cache.loads.count, 0);
}

static void refuses_an_invalid_node_and_changes_nothing(void **state)
{
	struct world *world = *state;
	struct json_value *object =
		parse("{\"metadata\":{\"name\":\"a\"},\"status\":{"
		      "\"allocatable\":{\"cpu\":\"lots\"}}}");
	bool changed = false;
	struct error err;

	put_node(world, "a", "4", "1");
	assert_true(
		cache_put_node(&world->cache, &changed, object, 0, &err) < 0);
	assert_false(changed);
	assert_int_equal(node_called(world, "a")->cpu_milli, 4000);
	json_value_free(object);
}

static void a_nominated_pod_counts_once_until_removed(void **state)
{
	struct world *world = *state;

	cache_put_nominated(&world->cache, make_pod(world, "u", ""));
	cache_put_nominated(&world->cache, make_pod(world, "u", ""));
	cache_put_nominated(&world->cache, make_pod(world, "v", ""));
	assert_int_equal(world->cache.cluster.nominated_count, 2);
	assert_true(cache_remove_nominated(&world->cache, "u"));
	assert_false(cache_remove_nominated(&world->cache, "u"));
	assert_int_equal(world->cache.cluster.nominated_count, 1);
	assert_string_equal(world->cache.cluster.nominated_pods[0]->uid, "v");
}

/* Announcements name times of the day. */
static void a_load_tells_the_node_the_time_of_the_day(void **state)
{
	struct world *world = *state;
	int64_t offset_us =
		(int64_t)clock_wall_us() - (int64_t)clock_monotonic_us();
	struct node_load load;
	struct node *node;
	bool changed;

	(void)put_node(world, "a", "4", "");
	node = world->cache.cluster.nodes[0];
	assert_true(node->vms.wall_offset_us == offset_us);
	node_set_wall_offset(node, 0);
	node_load_init(&load);
	load.name = xstrdup("a");
	cache_put_load(&world->cache, &changed, &load, 0, 0);
	assert_true(node->vms.wall_offset_us == offset_us);
	node_load_fini(&load);
}

static void the_newcomer_is_the_largest_pod_since_then(void **state)
{
	struct world *world = *state;
	struct pod *large = make_pod(world, "large", "a");

	large->requests.memory_bytes = INT64_C(4) << 30;
	put_node(world, "a", "4", "1");
	cache_put_pod(&world->cache, make_pod(world, "old", "a"), 5 * SECOND);
	cache_put_pod(&world->cache, make_pod(world, "far", "b"), 9 * SECOND);
	assert_null(cache_newcomer(&world->cache, "a", 5 * SECOND));
	cache_put_pod(&world->cache, make_pod(world, "small", "a"), 7 * SECOND);
	cache_put_pod(&world->cache, large, 6 * SECOND);
	assert_ptr_equal(cache_newcomer(&world->cache, "a", 5 * SECOND), large);
	assert_string_equal(cache_newcomer(&world->cache, "a", 6 * SECOND)->uid,
		"small");
	/* A reservation is no pod. */
	assert_true(cache_put_copy(&world->cache, "large", "copy", "c",
		9 * SECOND));
	assert_null(cache_newcomer(&world->cache, "c", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_load_tells_the_node_the_time_of_the_day, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			updates_of_a_vms_pod_keep_its_usage, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_measured_vm_stays_measured_when_its_pod_changes,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_nominated_pod_counts_once_until_removed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			more_cpu_is_a_change_but_a_heartbeat_is_not, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			pods_may_arrive_before_their_node, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_assumed_pod_counts_once_and_is_confirmed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_forgotten_pod_is_returned_and_counts_no_more, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_pod_bound_elsewhere_follows_the_api_server, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			only_nodes_have_a_load_once_all_nodes_are_known, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			the_newcomer_is_the_largest_pod_since_then, setup,
			teardown),
		cmocka_unit_test_setup_teardown(the_newest_load_counts, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			refuses_an_invalid_node_and_changes_nothing, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
