/* The demands of KubeVirt on a node, in words. */
#include "scheduler/filter/host_demand.h"

#include "tests/unit/scheduler/plan/plan_world.h"

#define NEW "'cpu-model-migration.node.kubevirt.io/Icelake-Server':'true'"
#define GFNI "'cpu-feature.node.kubevirt.io/gfni':'true'"
#define INTEL "'cpu-vendor.node.kubevirt.io/Intel':'true'"
#define Q35 "'machine-type.node.kubevirt.io/pc-q35-10.1':'true'"
#define ALL NEW "," GFNI "," INTEL "," Q35

static struct pod *vm_with(struct world *w, const char *spec)
{
	return world_pod(w, "vm", 4, "", spec, "");
}

/* The target of a migration. */
static struct pod *vm(struct world *w)
{
	return vm_with(w, "'nodeSelector':{" ALL ",'zone':'1'},");
}

/* A node with these labels lacks this; "": nothing. */
static void expect_on(struct world *w, const struct pod *pod,
	const char *labels, const char *expected)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1024);
	scoped_free char *name = xasprintf("node-%zu", w->cluster.count);
	struct host_demand demand;
	const struct node *node;

	world_node_with(w, name, 16, labels, "");
	node = w->cluster.nodes[world_index(w, name)];
	buffer_text(&text, "");
	if (host_demand_unmet(&demand, pod, node)) {
		host_demand_tell(&text, &demand, node);
	} else {
		assert_null(demand.kind);
	}
	assert_string_equal(text.data, expected);
}

static void the_model_comes_first(void **state)
{
	struct pod *pod;
	WORLD(w);

	pod = vm(&w);
	expect_on(&w, pod, "'zone':'1'," ALL, "");
	expect_on(&w, pod, "'zone':'1'",
		"its CPU model Icelake-Server is not on node-1");
	expect_on(&w, pod, "'zone':'1'," NEW,
		"its CPU vendor Intel is not on node-2");
	expect_on(&w, pod, "'zone':'1'," NEW "," INTEL,
		"its CPU feature gfni is not on node-3");
	expect_on(&w, pod, "'zone':'1'," NEW "," INTEL "," GFNI,
		"its machine type pc-q35-10.1 is not on node-4");
	world_end(&w);
}

static void a_model_that_the_vm_names_is_one(void **state)
{
	struct pod *pod;
	WORLD(w);

	pod = vm_with(&w,
		"'nodeSelector':{'cpu-model.node.kubevirt.io/Haswell':'true',"
		"'cpu-feature.node.kubevirt.io/b':'true',"
		"'cpu-feature.node.kubevirt.io/a':'true'},");
	expect_on(&w, pod, "", "its CPU model Haswell is not on node-0");
	expect_on(&w, pod, "'cpu-model.node.kubevirt.io/Haswell':'true'",
		"its CPU feature a is not on node-1");
	expect_on(&w, pod, "'cpu-model.node.kubevirt.io/Haswell':'false'",
		"its CPU model Haswell is not on node-2");
	world_end(&w);
}

static void what_people_select_stands_before_it(void **state)
{
	struct pod *pod;
	WORLD(w);

	expect_on(&w, vm(&w), "'zone':'2'", "");
	pod = vm_with(&w,
		"'nodeSelector':{" NEW
		"},'affinity':{'nodeAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':{"
		"'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
		"'operator':'In','values':['1']}]}]}}},");
	expect_on(&w, pod, "'zone':'2'", "");
	expect_on(&w, pod, "'zone':'1'",
		"its CPU model Icelake-Server is not on node-2");
	world_end(&w);
}

static void expect_counted(const struct world *w, const struct pod *pod,
	bool runs, const char *none, const char *counted)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1024);
	struct host_demand_counts counts = { 0 };

	for (size_t i = 0; i < w->cluster.count; i++) {
		(void)host_demand_count(&counts, pod, w->cluster.nodes[i]);
	}
	buffer_text(&text, "");
	host_demand_tell_none(&text, &counts, runs);
	assert_string_equal(text.data, none);
	buffer_clear(&text);
	buffer_text(&text, "");
	host_demand_tell_counts(&text, &counts);
	assert_string_equal(text.data, counted);
}

static void the_demand_that_most_nodes_lack_is_told(void **state)
{
	struct pod *pod;
	WORLD(w);

	pod = vm(&w);
	expect_counted(&w, pod, true, "", "");
	world_node_with(&w, "a", 16, "'zone':'1'," NEW "," INTEL, "");
	expect_counted(&w, pod, true,
		"its CPU feature gfni is on no other node with room",
		"1 node without it");
	world_node_with(&w, "b", 16, "'zone':'1'", "");
	world_node_with(&w, "c", 16, "'zone':'1'," INTEL, "");
	world_node_with(&w, "d", 16, "'zone':'2'", "");
	expect_counted(&w, pod, true,
		"its CPU model Icelake-Server is on no other node with room",
		"2 nodes without it, 1 node without its CPU feature gfni");
	expect_counted(&w, pod, false,
		"its CPU model Icelake-Server is on no node with room",
		"2 nodes without it, 1 node without its CPU feature gfni");
	world_end(&w);
}

static void further_demands_are_left_out(void **state)
{
	scoped_buffer struct buffer spec = BUFFER_MAX(4096);
	struct host_demand_counts counts = { 0 };
	struct pod *pod;
	WORLD(w);

	buffer_text(&spec, "'nodeSelector':{" NEW);
	for (int i = 0; i < HOST_DEMANDS_MAX + 1; i++) {
		buffer_printf(&spec, ",'cpu-feature.node.kubevirt.io/%d':''",
			i);
	}
	buffer_text(&spec, "},");
	pod = vm_with(&w, spec.data);
	for (int i = 0; i < HOST_DEMANDS_MAX + 1; i++) {
		scoped_buffer struct buffer labels = BUFFER_MAX(4096);
		scoped_free char *name = xasprintf("node-%d", i);

		buffer_text(&labels, NEW);
		for (int k = 0; k < i; k++) {
			buffer_printf(&labels,
				",'cpu-feature.node.kubevirt.io/%d':''", k);
		}
		world_node_with(&w, name, 16, labels.data, "");
		assert_true(host_demand_count(&counts, pod,
				    w.cluster.nodes[world_index(&w, name)]) ==
			(i < HOST_DEMANDS_MAX));
	}
	assert_int_equal(counts.count, HOST_DEMANDS_MAX);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_comes_first),
		cmocka_unit_test(a_model_that_the_vm_names_is_one),
		cmocka_unit_test(what_people_select_stands_before_it),
		cmocka_unit_test(the_demand_that_most_nodes_lack_is_told),
		cmocka_unit_test(further_demands_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
