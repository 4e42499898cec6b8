/* Outlooks as JSON, and how much of a large cluster they hold. */
#include "scheduler/answers/outlook.h"

#include "proto/question.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#define NOW INT64_C(10000000000)
#define SECOND INT64_C(1000000)
#define GIB 1073741824.0

static struct scene {
	struct interner *interner;
	struct cluster cluster;
	struct outlook outlook;
	struct pod *vm; /* counts on node a; NULL: none */
	struct buffer body;
	struct json_value *status;
} scene;

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ .interner = interner_new(),
		.body = BUFFER_MAX(ANSWER_BODY_MAX) };
	cluster_init(&scene.cluster, scene.interner);
	scene.outlook = (struct outlook){ .cluster = &scene.cluster,
		.scheduler = "me",
		.rebalance = "Recommend",
		.why = "--rebalance is recommend",
		.now_us = NOW,
		.wall_us = UINT64_C(1700000000000000) };
	return 0;
}

static int teardown(void **state)
{
	golden_tell("%s\n", scene.body.data == NULL ? "" : scene.body.data);
	assert_golden_told(GOLDEN_PROGRAM, *state);
	if (scene.vm != NULL) {
		cluster_remove_pod(&scene.cluster, scene.cluster.nodes[0],
			scene.vm);
	}
	pod_free(scene.vm);
	json_value_free(scene.status);
	buffer_fini(&scene.body);
	cluster_fini(&scene.cluster);
	interner_free(scene.interner);
	return 0;
}

static struct node *put_node(const char *name, const char *more)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'spec':{%s},'status':{"
		"'allocatable':{'cpu':'12','memory':'48Gi','pods':'9'}}}",
		name, more);
	struct json_value *object = given_json(json);
	struct node *node = NULL;

	assert_int_equal(node_new(&node, scene.interner, object, NULL), 0);
	json_value_free(object);
	cluster_add_node(&scene.cluster, node);
	return node;
}

/* 6 of 16 cores and 10 of 64 GiB are in use. */
static void put_load(struct node *node, int64_t age_us)
{
	const struct node_load load = given_load(6, 10 * GIB);

	node_set_load(node, &load, NOW - age_us, NOW);
}

static void put_vm(struct node *node, const char *vcpus)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher','namespace':'bank','uid':'u',"
		"'labels':{'kubevirt.io':'virt-launcher'},'annotations':{"
		"'kubevirt.io/domain':'vault'}},'spec':{'nodeName':'a',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'%s','memory':'8Gi'}}}]},'status':{'phase':'Running'}}",
		vcpus);

	scene.vm = given_pod(scene.interner, json);
	cluster_add_pod(&scene.cluster, node, scene.vm, NOW);
}

static void write_outlook(void)
{
	json_value_free(take_ptr(scene.status));
	buffer_clear(&scene.body);
	outlook_write(&scene.body, &scene.outlook);
	assert_false(scene.body.overflowed);
	assert_int_equal(json_value_parse(&scene.status, scene.body.data,
				 scene.body.len, NULL),
		0);
}

static const struct json_value *node_at(size_t i)
{
	const struct json_value *v =
		json_value_first(json_value_get(scene.status, "nodes"));

	for (; i > 0 && v != NULL; i--) {
		v = json_value_next(v);
	}
	assert_non_null(v);
	return v;
}

static double figure(size_t node, const char *path)
{
	double value = -1;

	given_check(
		json_value_number(&value, json_value_at(node_at(node), path)),
		path);
	return value;
}

static void assert_figure(size_t node, const char *path, double value)
{
	assert_true(figure(node, path) - value < 1e-6 &&
		value - figure(node, path) < 1e-6);
}

static void assert_unknown(size_t node, const char *path)
{
	assert_null(json_value_at(node_at(node), path));
}

/* ---- the cluster ---- */

static void a_measured_node_has_all_figures(void **state)
{
	struct node *node = put_node("a", "");

	(void)state;
	put_load(node, 0);
	write_outlook();
	assert_string_equal(json_value_text_at(node_at(0), "name", ""), "a");
	assert_false(
		json_value_true(json_value_get(node_at(0), "isUnschedulable")));
	assert_figure(0, "cpu/cores", 16);
	assert_figure(0, "cpu/requestedCores", 0);
	assert_figure(0, "cpu/usedCores", 6);
	assert_figure(0, "cpu/expectedCores", 6);
	assert_figure(0, "memory/totalBytes", 64 * GIB);
	assert_figure(0, "memory/requestedBytes", 0);
	assert_figure(0, "memory/usedBytes", 10 * GIB);
	assert_figure(0, "memory/expectedBytes", 10 * GIB);
	assert_string_equal(json_value_text_at(scene.status, "scheduler", ""),
		"me");
	assert_string_equal(json_value_text_at(scene.status, "time", ""),
		"2023-11-14T22:13:20.000000Z");
	assert_string_equal(
		json_value_text_at(scene.status, "rebalance/mode", ""),
		"Recommend");
	assert_string_equal(
		json_value_text_at(scene.status, "rebalance/why", ""),
		"--rebalance is recommend");
}

/* Its 4 vCPUs count as those of an average VM, before it was measured. */
static void a_vm_that_starts_is_expected_before_it_is_measured(void **state)
{
	struct node *node = put_node("a", "");

	(void)state;
	put_load(node, 0);
	put_vm(node, "400m");
	write_outlook();
	assert_figure(0, "cpu/requestedCores", 0.4);
	assert_figure(0, "cpu/usedCores", 6);
	assert_figure(0, "cpu/expectedCores", 7);
	assert_figure(0, "memory/requestedBytes", 8 * GIB);
	assert_figure(0, "memory/expectedBytes", 18 * GIB);
	assert_null(strstr(scene.body.data, "vault"));
	assert_null(strstr(scene.body.data, "bank"));
}

static void figures_that_nobody_measured_are_left_out(void **state)
{
	struct node *node = put_node("a", "'unschedulable':true");

	(void)state;
	put_vm(node, "400m");
	write_outlook();
	assert_true(
		json_value_true(json_value_get(node_at(0), "isUnschedulable")));
	assert_unknown(0, "cpu/usedCores");
	assert_unknown(0, "memory/usedBytes");
	assert_figure(0, "cpu/cores", 12);
	assert_figure(0, "cpu/expectedCores", 1);
	assert_figure(0, "memory/totalBytes", 48 * GIB);
	assert_figure(0, "memory/expectedBytes", 8 * GIB);
	/* Nor are those that are too old to be trusted. */
	put_load(node, NODE_METRICS_LOST_US);
	write_outlook();
	assert_unknown(0, "cpu/usedCores");
	assert_unknown(0, "memory/usedBytes");
}

/* The older the load, the more the requests count. */
static void an_old_load_counts_by_its_trust(void **state)
{
	struct node *node = put_node("a", "");
	double fresh, old;

	(void)state;
	put_load(node, 0);
	put_vm(node, "400m");
	write_outlook();
	fresh = figure(0, "cpu/expectedCores");
	put_load(node, NODE_METRICS_LOST_US - SECOND);
	node->metrics.sample_us = NOW - NODE_METRICS_LOST_US + SECOND;
	write_outlook();
	old = figure(0, "cpu/expectedCores");
	assert_figure(0, "cpu/usedCores", 6);
	assert_true(old < fresh && old > 0);
}

static void nodes_beyond_the_limit_are_counted(void **state)
{
	enum { NODES = 9000 };
	double left = 0;
	size_t shown;

	(void)state;
	for (int i = 0; i < NODES; i++) {
		scoped_free char *name = xasprintf(
			"node-with-a-name-that-takes-its-room-%04d", i);

		put_load(put_node(name, ""), 0);
	}
	write_outlook();
	shown = json_value_count(json_value_get(scene.status, "nodes"));
	assert_true(json_value_number(&left,
		json_value_get(scene.status, "nodesLeftOut")));
	assert_true(left > 0);
	assert_int_equal(shown + (size_t)left, NODES);
	assert_true(shown > 5000);
}

/* ---- the room ---- */

static const char room[] =
	"{'now':'2026','timeout_s':600,'mode':'automatic','why':'',"
	"'making':[{'namespace':'bank','pod':'vault','priority':9,"
	"'state':'moving','since':'2026','node':'a','holds_the_place':true,"
	"'plan':'bank/vault fits once bank/safe has left',"
	"'moves':[{'id':'m','namespace':'bank','vm':'safe','source':'a',"
	"'target':'b','state':'running','failure':'bank/safe is gone'}],"
	"'why':'bank/vault waits'}],"
	"'fits':{'age_s':1.5,'nodes':2,'vms':3,'max_moves':4,'kinds':[{"
	"'kind':'plain','offered':true,'message':'','shapes':[{'vcpus':4,"
	"'memory_gib':16,'fits_now':false,'nodes':0,'moves':null,"
	"'message':'after 1 move: bank/vault to b'}],'largest_now':{"
	"'vcpus':2,'memory_gib':8,'node':'a','moves':0},"
	"'largest_after_moves':null,'cut_off':false}],'news':'bank'},"
	"'more':{'vm':'vault'}}";

static void the_room_names_no_pod_and_no_vm(void **state)
{
	scoped_free char *text = given_quotes(room);
	const struct json_value *fits, *making;

	(void)state;
	scene.outlook.room = text;
	write_outlook();
	assert_null(strstr(scene.body.data, "bank"));
	assert_null(strstr(scene.body.data, "vault"));
	assert_null(strstr(scene.body.data, "safe"));
	fits = json_value_at(scene.status, "room/fits");
	making = json_value_first(json_value_at(scene.status, "room/making"));
	assert_true(json_value_true(json_value_get(making, "holdsThePlace")));
	assert_string_equal(json_value_text_at(json_value_first(json_value_get(
						       making, "moves")),
				    "target", ""),
		"b");
	assert_non_null(strstr(scene.body.data,
		"\"kinds\":[{\"kind\":\"plain\",\"offered\":true,"
		"\"message\":\"\",\"shapes\":[{\"vcpus\":4,\"memoryGib\":16,"
		"\"fitsNow\":false,\"nodes\":0}],\"largestNow\":{\"vcpus\":2,"
		"\"memoryGib\":8,\"node\":\"a\",\"moves\":0},\"cutOff\":false"
		"}]}"));
	assert_non_null(json_value_get(fits, "ageS"));
}

static void without_a_room_there_is_none(void **state)
{
	(void)state;
	write_outlook();
	assert_null(json_value_get(scene.status, "room"));
	scene.outlook.room = "{";
	write_outlook();
	assert_null(json_value_get(scene.status, "room"));
}

/* ---- a VM ---- */

static void a_vm_says_whether_it_may_be_moved(void **state)
{
	struct vm_outlook vm = { .scheduler = "me",
		.node = "a",
		.is_known = true,
		.is_movable = true,
		.reason = "" };

	(void)state;
	outlook_write_vm(&scene.body, &vm);
	assert_non_null(strstr(scene.body.data,
		"\"nodeName\":\"a\",\"isMovable\":true,\"reason\":\"\"}"));
	buffer_clear(&scene.body);
	vm.node = NULL;
	vm.is_known = false;
	vm.reason = "nobody knows";
	outlook_write_vm(&scene.body, &vm);
	assert_null(strstr(scene.body.data, "isMovable"));
	assert_null(strstr(scene.body.data, "nodeName"));
	assert_non_null(
		strstr(scene.body.data, "\"reason\":\"nobody knows\"}"));
}

#define TEST(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_measured_node_has_all_figures),
		TEST(a_vm_that_starts_is_expected_before_it_is_measured),
		TEST(figures_that_nobody_measured_are_left_out),
		TEST(an_old_load_counts_by_its_trust),
		TEST(nodes_beyond_the_limit_are_counted),
		TEST(the_room_names_no_pod_and_no_vm),
		TEST(without_a_room_there_is_none),
		TEST(a_vm_says_whether_it_may_be_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
