/* Placements over a scheduler's cache. */
#include "scheduler/answers/placement_answer.h"

#include "scheduler/answers/rescheduled.h"
#include "scheduler/cache/queue.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/score/policy.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define NOW INT64_C(10000000000)
#define GIB (1 << 30)

static struct scene {
	struct cache cache;
	struct queue queue;
	struct reservations reservations;
	struct placement_answer where;
} scene;

static void put_node(const char *name, const char *cpu)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
		"'%s','kubevirt.io/schedulable':'true'}},'status':{"
		"'allocatable':{'cpu':'%s','memory':'64Gi','pods':'110',"
		"'ephemeral-storage':'100Gi',"
		"'devices.kubevirt.io/kvm':'1k'}}}",
		name, name, cpu);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(
		cache_put_node(&scene.cache, &changed, object, NOW, NULL), 0);
	json_value_free(object);
}

/* The launcher pod of shop/NAME; more: of its metadata's labels and its
 * spec. */
static struct pod *launcher(const char *name, const char *node, int gib,
	const char *labels, const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'shop','uid':"
		"'uid-%s','labels':{%s'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s'},'annotations':{"
		"'kubevirt.io/domain':'%s'}},'spec':{%s'nodeName':'%s',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'800m','memory':'%dGi','devices.kubevirt.io/kvm':'1'}}}]"
		"},'status':{'phase':'%s'}}",
		name, name, labels, name, name, spec, node, gib,
		*node == '\0' ? "Pending" : "Running");

	return given_pod(scene.cache.interner, json);
}

static void run_vm(const char *name, const char *node, int gib)
{
	cache_put_pod(&scene.cache, launcher(name, node, gib, "", ""), 0);
}

/* The node's load with one VM that it knows; name NULL: none. */
static void put_load(const char *node, double cores, const char *name,
	double vm_cores)
{
	struct node_load load = given_load(cores, 8.0 * GIB);
	scoped_free char *copy = xstrdup(node);
	struct vm_load vm;
	bool changed;

	load.name = copy;
	if (name != NULL) {
		vm_load_init(&vm);
		(void)snprintf(vm.pod_uid, sizeof(vm.pod_uid), "uid-%s", name);
		vm.used_cores = vm_cores;
		vm.used_cores_5m = vm_cores;
		vm.memory_bytes = 4.0 * GIB;
		load.vms = &vm;
		load.vm_count = 1;
	}
	cache_put_load(&scene.cache, &changed, &load, NOW, NOW);
}

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ 0 };
	cache_init(&scene.cache);
	queue_init(&scene.queue);
	reservations_init(&scene.reservations, &scene.cache);
	put_node("a", "16");
	put_node("b", "16");
	cache_set_complete(&scene.cache);
	scene.where = (struct placement_answer){ .cache = &scene.cache,
		.reservations = &scene.reservations,
		.queue = &scene.queue,
		.keeps_constraints = true,
		.scheduler = "replica-1",
		.namespace = "shop",
		.now_us = NOW };
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	queue_fini(&scene.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

static int ask(struct buffer *out, const char *json, struct error *err)
{
	struct json_value *value = given_json(json);
	struct placement_spec spec;
	int r;

	buffer_clear(out);
	assert_int_equal(placement_spec_read(&spec, value, NULL), 0);
	r = placement_answer_write(out, &scene.where, &spec, err);
	json_value_free(value);
	return r;
}

/* The answer; the caller frees it. */
static struct json_value *placed(const char *json)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct json_value *answer = NULL;
	struct error err;

	if (ask(&out, json, &err) < 0 ||
		json_value_parse(&answer, out.data, out.len, &err) < 0) {
		fail_msg("%s", err.text);
	}
	golden_tell("%s\n", out.data);
	return answer;
}

static const struct json_value *node_of(const struct json_value *answer,
	const char *name)
{
	const struct json_value *v =
		json_value_first(json_value_get(answer, "nodes"));

	while (v != NULL &&
		strcmp(json_value_text_at(v, "name", ""), name) != 0) {
		v = json_value_next(v);
	}
	assert_non_null(v);
	return v;
}

static double number(const struct json_value *object, const char *key)
{
	double value = NAN;

	(void)json_value_number(&value, json_value_get(object, key));
	return value;
}

static void expect_chosen(const struct json_value *answer, const char *node)
{
	assert_string_equal(json_value_text_at(answer, "chosen", "none"), node);
	assert_string_equal(json_value_text_at(json_value_first(json_value_get(
						       answer, "nodes")),
				    "name", ""),
		node);
}

/* ---- VMs that run ---- */

static void a_running_vm_is_judged_as_if_it_were_placed_anew(void **state)
{
	struct json_value *answer;
	const struct json_value *home;

	(void)state;
	/* It fills its node, and all of its load is its own. */
	run_vm("web", "a", 40);
	put_load("a", 6, "web", 6);
	put_load("b", 3, NULL, 0);
	answer = placed("{'vmName':'web'}");
	expect_chosen(answer, "a");
	assert_string_equal(json_value_text_at(answer, "currentNode", ""), "a");
	assert_string_equal(json_value_text_at(answer, "scheduler", ""),
		"replica-1");
	assert_string_equal(json_value_text_at(answer, "policy", ""),
		"real-load");
	home = node_of(answer, "a");
	assert_true(json_value_true(json_value_get(home, "feasible")));
	assert_true(
		number(home, "score") > number(node_of(answer, "b"), "score"));
	/* The answer changed nothing. */
	assert_int_equal(cache_node(&scene.cache, "a")->pod_count, 1);
	assert_true(cache_node(&scene.cache, "a")->metrics.used_cores == 6);
	json_value_free(answer);
}

/* A node that reports nothing but that it is there. */
static void what_is_not_known_of_a_node_stays_unknown(void **state)
{
	struct node_load load;
	char name[] = "a";
	struct vm_load vm;
	struct rescheduled rescheduled;
	bool changed;

	(void)state;
	run_vm("web", "a", 4);
	node_load_init(&load);
	vm_load_init(&vm);
	(void)snprintf(vm.pod_uid, sizeof(vm.pod_uid), "uid-web");
	vm.used_cores = 1;
	load.name = name;
	load.interval_ms = 2000;
	load.vms = &vm;
	load.vm_count = 1;
	load.cpu_cores = 16;
	load.cpu_used_cores = 3;
	load.memory_total_bytes = 64.0 * GIB;
	load.memory_available_bytes = 56.0 * GIB;
	cache_put_load(&scene.cache, &changed, &load, NOW, NOW);
	rescheduled_init(&rescheduled, &scene.cache,
		cache_pod(&scene.cache, "uid-web"),
		cache_node(&scene.cache, "a"));
	assert_true(rescheduled.node->metrics.used_cores == 2);
	assert_true(rescheduled.node->metrics.used_cores_latest == 2);
	assert_true(isnan(rescheduled.node->metrics.used_cores_5m));
	assert_true(isnan(rescheduled.node->metrics.used_cores_15m));
	assert_true(isnan(rescheduled.node->metrics.used_bytes_15m));
	/* The VM's memory is not known. */
	assert_true(isnan(rescheduled.node->metrics.memory_available));
	rescheduled_fini(&rescheduled);
}

/* The mean of 15 minutes is unknown, so the policy takes the latest figure. */
static void a_node_is_not_idle_because_a_mean_is_unknown(void **state)
{
	struct json_value *answer;
	struct policy policy;

	(void)state;
	assert_int_equal(
		policy_find(&policy, "load-variation-risk", NULL, NULL), 0);
	scene.where.policy = &policy;
	run_vm("web", "a", 4);
	put_load("a", 13, "web", 1);
	put_load("b", 3, NULL, 0);
	answer = placed("{'vmName':'web'}");
	expect_chosen(answer, "b");
	json_value_free(answer);
}

/* JSON leaves out what is unknown. */
static void a_node_without_figures_has_none_in_the_answer(void **state)
{
	struct json_value *answer;
	struct node_load load;
	char name[] = "a";
	bool changed;

	(void)state;
	run_vm("web", "a", 4);
	node_load_init(&load);
	load.name = name;
	load.interval_ms = 2000;
	cache_put_load(&scene.cache, &changed, &load, NOW, NOW);
	put_load("b", 3, NULL, 0);
	answer = placed("{'vmName':'web'}");
	assert_null(json_value_get(node_of(answer, "a"), "cpuExpected"));
	assert_non_null(json_value_get(node_of(answer, "b"), "cpuExpected"));
	json_value_free(answer);
}

static void its_own_pod_does_not_stand_in_its_way(void **state)
{
	struct json_value *answer;

	(void)state;
	cache_put_pod(&scene.cache,
		launcher("web", "a", 4, "'app':'web',",
			"'affinity':{'podAntiAffinity':{"
			"'requiredDuringSchedulingIgnoredDuringExecution':[{"
			"'topologyKey':'kubernetes.io/hostname',"
			"'labelSelector':{'matchLabels':{'app':'web'}}}]}},"),
		0);
	cache_put_pod(&scene.cache, launcher("api", "b", 4, "'app':'web',", ""),
		0);
	answer = placed("{'podName':'launcher-web'}");
	expect_chosen(answer, "a");
	assert_string_equal(json_value_text(json_value_first(json_value_get(
				    node_of(answer, "b"), "reasons"))),
		"node(s) didn't match pod anti-affinity rules");
	assert_false(json_value_true(
		json_value_get(node_of(answer, "b"), "feasible")));
	json_value_free(answer);
}

static void a_migration_does_not_pin_the_vm_to_its_target(void **state)
{
	struct json_value *answer;

	(void)state;
	cache_put_pod(&scene.cache,
		launcher("web", "a", 4,
			"'kubevirt.io/migrationJobUID':'m',"
			"'kubevirt.io/nodeName':'a',",
			"'nodeSelector':{'kubernetes.io/hostname':'a',"
			"'kubevirt.io/schedulable':'true'},"),
		0);
	answer = placed("{'vmName':'web'}");
	assert_true(number(answer, "feasibleNodes") == 2);
	json_value_free(answer);
}

#define NEW_MODEL                                                              \
	"'nodeSelector':{'cpu-model-migration.node.kubevirt.io/"               \
	"Icelake-Server':'true'},"

static void expect_reason(const struct json_value *answer, const char *node,
	const char *reason)
{
	assert_string_equal(json_value_text(json_value_first(json_value_get(
				    node_of(answer, node), "reasons"))),
		reason);
}

static void what_kubevirt_demands_of_a_node_is_told_in_words(void **state)
{
	struct json_value *answer;

	(void)state;
	cache_put_pod(&scene.cache, launcher("web", "a", 4, "", NEW_MODEL), 0);
	answer = placed("{'vmName':'web'}");
	expect_reason(answer, "b", "its CPU model Icelake-Server is not on b");
	assert_non_null(strstr(json_value_text_at(answer, "sentence", ""),
		" What stands in the way: its CPU model Icelake-Server is on "
		"no other node with room (2 nodes without it)."));
	json_value_free(answer);
	answer =
		placed("{'object':{'kind':'VirtualMachineInstance',"
		       "'metadata':{'name':'new'},'spec':{'domain':{'cpu':{"
		       "'model':'Haswell'},'memory':{'guest':'1Gi'},"
		       "'devices':{}}}}}");
	expect_reason(answer, "b", "its CPU model Haswell is not on b");
	assert_non_null(strstr(json_value_text_at(answer, "sentence", ""),
		"its CPU model Haswell is on no node with room"));
	json_value_free(answer);
}

/* ---- pods that wait ---- */

static void a_pod_that_exists_is_judged_in_kube_schedulers_words(void **state)
{
	static const char reason[] =
		"node(s) didn't match Pod's node affinity/selector";
	struct json_value *answer;

	(void)state;
	queue_put(&scene.queue, launcher("web", "", 4, "", NEW_MODEL), NOW);
	answer = placed("{'vmName':'web'}");
	expect_reason(answer, "b", reason);
	assert_string_equal(json_value_text_at(answer, "sentence", ""),
		"0/2 nodes are available: 2 node(s) didn't match Pod's node "
		"affinity/selector.");
	json_value_free(answer);
}

static void a_pending_pod_is_decided_with_the_reservation_of_its_vm(
	void **state)
{
	struct json_value *answer;

	(void)state;
	queue_put(&scene.queue, launcher("web", "", 60, "", ""), NOW);
	run_vm("other", "b", 30);
	answer = placed("{'podName':'launcher-web'}");
	expect_chosen(answer, "a");
	assert_null(json_value_get(answer, "currentNode"));
	assert_string_equal(json_value_text(json_value_first(json_value_get(
				    node_of(answer, "b"), "reasons"))),
		"Insufficient memory");
	json_value_free(answer);
	run_vm("third", "a", 30);
	answer = placed("{'vmName':'web'}");
	assert_true(json_value_is_null(json_value_get(answer, "chosen")));
	assert_non_null(strstr(json_value_text_at(answer, "sentence", ""),
		"0/2 nodes are available: 2 Insufficient memory."));
	json_value_free(answer);
}

/* ---- manifests ---- */

static void a_manifest_counts_like_the_vm_of_its_name(void **state)
{
	static const char manifest[] =
		"{'object':{'kind':'VirtualMachineInstance','metadata':{"
		"'name':'web'},'spec':{'domain':{'memory':{'guest':'4Gi'},"
		"'cpu':{'cores':4},'devices':{'autoattachPodInterface':false}}"
		"}}}";
	struct json_value *unknown, *known;

	(void)state;
	put_load("a", 1, NULL, 0);
	put_load("b", 1, NULL, 0);
	unknown = placed(manifest);
	assert_string_equal(json_value_text_at(unknown, "derived/from", ""),
		"VirtualMachineInstance");
	assert_string_equal(json_value_text_at(unknown, "derived/rules", ""),
		"virt-controller of KubeVirt 1.9");
	run_vm("web", "a", 4);
	cache_update_profile(&scene.cache, "uid-web",
		&(const struct usage){ .seconds = 28800,
			.mean_cores = 3.9,
			.square_cores = 15.3 });
	known = placed(manifest);
	assert_true(number(node_of(known, "b"), "cpuExpected") >
		number(node_of(unknown, "b"), "cpuExpected") + 0.1);
	json_value_free(unknown);
	json_value_free(known);
}

/* ---- refusals ---- */

static void nodes_that_are_not_feasible_come_last_by_name(void **state)
{
	static const char *const order[] = { "a", "b", "c", "d", "e" };
	const struct json_value *node;
	struct json_value *answer;
	size_t count = 0;

	(void)state;
	put_node("e", "500m");
	put_node("c", "500m");
	put_node("d", "500m");
	run_vm("web", "a", 4);
	answer = placed("{'vmName':'web'}");
	node = json_value_first(json_value_get(answer, "nodes"));
	for (; node != NULL; node = json_value_next(node)) {
		const char *name = json_value_text_at(node, "name", "");

		assert_true(count < count_of(order));
		assert_true(count < 2 ? strcmp(name, "c") < 0
				      : strcmp(name, order[count]) == 0);
		assert_int_equal(
			json_value_true(json_value_get(node, "feasible")),
			count < 2);
		count++;
	}
	assert_int_equal(count, count_of(order));
	json_value_free(answer);
}

static void says_why_there_is_no_answer(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct json_value *object = given_json(
		"{'metadata':{'name':'db','namespace':'shop','uid':'db'},"
		"'spec':{'nodeName':'a','containers':[]},'status':{'phase':"
		"'Running'}}");
	struct error err;

	(void)state;
	cache_put_pod(&scene.cache, given_pod_of(scene.cache.interner, object),
		0);
	run_vm("web", "a", 4);
	assert_int_equal(ask(&out, "{'vmName':'none'}", &err), -ENOENT);
	assert_string_equal(err.text,
		"the VM shop/none does not run; ask with its manifest");
	assert_int_equal(ask(&out, "{'podName':'none'}", &err), -ENOENT);
	assert_int_equal(ask(&out, "{'podName':'db'}", &err), -EINVAL);
	assert_non_null(strstr(err.text, "its constraints are not kept"));
	assert_int_equal(ask(&out, "{'object':{'kind':'Pod'}}", &err), -EINVAL);
	assert_string_equal(err.text, "the manifest has no spec");
	scene.where.keeps_constraints = false;
	assert_int_equal(ask(&out, "{'vmName':'web'}", &err), -EINVAL);
	assert_non_null(strstr(err.text, "with --rebalance off"));
	/* A VM of another namespace is not this one. */
	scene.where.namespace = "bank";
	assert_int_equal(ask(&out, "{'vmName':'web'}", &err), -ENOENT);
}

static void nodes_that_find_no_room_in_the_answer_are_counted(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256 << 10);
	struct json_value *answer = NULL;
	double listed;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		put_node(name, "16");
		put_load(name, 1, NULL, 0);
	}
	assert_int_equal(ask(&out,
				 "{'object':{'kind':'Pod','spec':{'containers':"
				 "[]}}}",
				 NULL),
		0);
	assert_int_equal(json_value_parse(&answer, out.data, out.len, NULL), 0);
	listed = (double)json_value_count(json_value_get(answer, "nodes"));
	assert_true(listed > 100);
	assert_true(listed + number(answer, "nodesLeftOut") == 1502);
	assert_true(number(answer, "totalNodes") == 1502);
	json_value_free(answer);
}

#define TEST(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_running_vm_is_judged_as_if_it_were_placed_anew),
		TEST(what_is_not_known_of_a_node_stays_unknown),
		TEST(a_node_is_not_idle_because_a_mean_is_unknown),
		TEST(a_node_without_figures_has_none_in_the_answer),
		TEST(its_own_pod_does_not_stand_in_its_way),
		TEST(a_migration_does_not_pin_the_vm_to_its_target),
		TEST(what_kubevirt_demands_of_a_node_is_told_in_words),
		TEST(a_pod_that_exists_is_judged_in_kube_schedulers_words),
		TEST(a_pending_pod_is_decided_with_the_reservation_of_its_vm),
		TEST(a_manifest_counts_like_the_vm_of_its_name),
		TEST(nodes_that_are_not_feasible_come_last_by_name),
		TEST(says_why_there_is_no_answer),
		TEST(nodes_that_find_no_room_in_the_answer_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
