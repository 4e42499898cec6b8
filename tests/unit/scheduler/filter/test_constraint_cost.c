#include "scheduler/filter/constraint_cost.h"

#include "scheduler/filter/prefilter.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

enum { NODES = 1000, PODS = 3000 };

static struct scene {
	struct interner *interner;
	struct cluster cluster;
	struct pod *other;
} scene;

/* The pods of all nodes are one. */
static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ .interner = interner_new() };
	cluster_init(&scene.cluster, scene.interner);
	scene.other = given_pod(scene.interner,
		"{'metadata':{'name':'o','namespace':'ns','uid':'o','labels':{"
		"'a':'b'}}}");
	for (int i = 0; i < NODES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		cluster_add_node(&scene.cluster,
			given_plain_node(scene.interner, name));
	}
	for (int i = 0; i < PODS; i++) {
		cluster_add_pod(&scene.cluster, scene.cluster.nodes[i % NODES],
			scene.other, 0);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cluster_fini(&scene.cluster);
	pod_free(scene.other);
	interner_free(scene.interner);
	return 0;
}

/* A pod with this list of as many elements as asked. */
static struct pod *pod_with(const char *before, const char *element,
	size_t count, const char *after)
{
	scoped_buffer struct buffer json = BUFFER_MAX(1 << 20);

	buffer_printf(&json,
		"{'metadata':{'name':'p','namespace':'ns','uid':'p'},'spec':{%"
		"s",
		before);
	for (size_t i = 0; i < count; i++) {
		buffer_printf(&json, "%s%s", i > 0 ? "," : "", element);
	}
	buffer_printf(&json, "%s}}", after);
	return given_pod(scene.interner, json.data);
}

#define TERMS                                                                  \
	"'affinity':{'podAffinity':{"                                          \
	"'preferredDuringSchedulingIgnoredDuringExecution':["
/* Two parts: the term and a requirement. */
#define TERM                                                                   \
	"{'weight':1,'podAffinityTerm':{'topologyKey':'zone',"                 \
	"'labelSelector':{'matchLabels':{'a':'b'}}}}"

static struct pod *affine_pod(size_t terms)
{
	return pod_with(TERMS, TERM, terms, "]}}");
}

static uint64_t cost_of(struct pod *pod)
{
	uint64_t cost = constraint_cost(pod, &scene.cluster);

	pod_free(pod);
	return cost;
}

static void terms_are_compared_with_all_pods_and_nodes(void **state)
{
	(void)state;
	assert_int_equal(cost_of(affine_pod(100)), 200 * (PODS + 2 * NODES));
	assert_int_equal(cost_of(affine_pod(200)), 400 * (PODS + 2 * NODES));
}

static void a_usual_pod_costs_nothing_to_speak_of(void **state)
{
	(void)state;
	assert_int_equal(cost_of(affine_pod(8)), 0);
	assert_int_not_equal(cost_of(affine_pod(9)), 0);
}

static void spread_constraints_count_domains_of_nodes_and_pods(void **state)
{
	(void)state;
	assert_int_equal(
		cost_of(pod_with("'topologySpreadConstraints':[",
			"{'topologyKey':'zone','maxSkew':1,"
			"'nodeAffinityPolicy':'Ignore','labelSelector':{"
			"'matchLabels':{'a':'b'}}}",
			100, "]")),
		100 * (2 * PODS + 32 * NODES));
	/* Each counts the nodes that the pod's selectors admit. */
	assert_int_equal(
		cost_of(pod_with("'nodeSelector':{'a':'b','c':'d'},"
				 "'topologySpreadConstraints':[",
			"{'topologyKey':'zone','maxSkew':1,'labelSelector':{}}",
			100, "]")),
		100 * (PODS + 32 * NODES) + NODES * (2 + 100 * 2));
	/* A preference for hosts counts pods again for each score. */
	assert_int_equal(
		cost_of(pod_with("'topologySpreadConstraints':[",
			"{'topologyKey':'kubernetes.io/hostname','maxSkew':1,"
			"'whenUnsatisfiable':'ScheduleAnyway',"
			"'nodeAffinityPolicy':'Ignore','labelSelector':{}}",
			100, "]")),
		100 * (3 * PODS + 32 * NODES));
}

static void node_affinity_is_read_for_each_node(void **state)
{
	(void)state;
	assert_int_equal(
		cost_of(pod_with("'affinity':{'nodeAffinity':{"
				 "'requiredDuringSchedulingIgnoredDuringExecu"
				 "tion':{'nodeSelectorTerms':[",
			"{'matchExpressions':[{'key':'a','operator':"
			"'Exists'}]}",
			100, "]}}}")),
		NODES * 200);
	assert_int_equal(
		cost_of(pod_with("'affinity':{'nodeAffinity':{"
				 "'preferredDuringSchedulingIgnoredDuringExec"
				 "ution':[",
			"{'weight':1,'preference':{'matchExpressions':[{"
			"'key':'a','operator':'Exists'}]}}",
			100, "]}}")),
		NODES * 3 * 200);
}

static void tolerations_are_read_for_each_taint(void **state)
{
	struct node *tainted;

	(void)state;
	assert_int_equal(cost_of(pod_with("'tolerations':[",
				 "{'key':'a','operator':'Exists'}", 100, "]")),
		0);
	tainted = given_node(scene.interner,
		"{'metadata':{'name':'t'},'spec':{'taints':[{'key':'k',"
		"'effect':'NoSchedule'},{'key':'l','effect':'NoSchedule'}]}}");
	cluster_add_node(&scene.cluster, tainted);
	assert_int_equal(cost_of(pod_with("'tolerations':[",
				 "{'key':'a','operator':'Exists'}", 100, "]")),
		2 * 4 * 100);
}

/* 2,000 parts and 5,000 pods and nodes to compare them with. */
static void a_pod_that_costs_too_much_is_refused_and_not_counted(void **state)
{
	struct pod *pod = affine_pod(1000);
	struct prefilter prefilter = { 0 };

	(void)state;
	assert_int_equal(constraint_cost(pod, &scene.cluster),
		CONSTRAINT_COST_MAX);
	assert_false(constraint_cost_exceeds(pod, &scene.cluster));
	cluster_add_pod(&scene.cluster, scene.cluster.nodes[0], scene.other, 0);
	assert_true(constraint_cost_exceeds(pod, &scene.cluster));
	assert_null(pod->unsupported);
	prefilter_run(&prefilter, pod, &scene.cluster);
	assert_ptr_equal(prefilter.refusal, constraint_cost_refusal);
	assert_int_equal(prefilter.affinity.scores.used, 0);
	prefilter_fini(&prefilter);
	pod_free(pod);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(terms_are_compared_with_all_pods_and_nodes),
		TEST(a_usual_pod_costs_nothing_to_speak_of),
		TEST(spread_constraints_count_domains_of_nodes_and_pods),
		TEST(node_affinity_is_read_for_each_node),
		TEST(tolerations_are_read_for_each_taint),
		TEST(a_pod_that_costs_too_much_is_refused_and_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
