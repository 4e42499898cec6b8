/* Why a VM finds no node. */
#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/plan/plan_world.h"

#define NEW "'cpu-model-migration.node.kubevirt.io/Icelake-Server':'true'"

/* On the node "a", with a next pod of the new model. */
static void run_new(struct world *w, const char *name, const char *selector)
{
	scoped_free char *spec =
		xasprintf("'nodeSelector':{" NEW "%s},", selector);

	(void)world_run(w, world_pod(w, name, 4, "", spec, ""), "a");
}

static const struct plan *drain(struct world *w)
{
	size_t a = world_index(w, "a");

	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_NODE_DRAINED,
			.nodes = &a,
			.node_count = 1 });
}

static void the_cpu_model_that_is_nowhere_is_named(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node_with(&w, "a", 16, NEW, "");
	world_node_with(&w, "b", 2, NEW, "");
	world_node(&w, "c", 16);
	world_node(&w, "d", 16);
	run_new(&w, "vm-1", "");
	plan = drain(&w);
	assert_int_equal(plan->left_count, 1);
	assert_string_equal(plan->left[0].why,
		"finds no node: its CPU model Icelake-Server is on no other "
		"node with room (2 nodes without it, 1 Insufficient memory)");
	world_end(&w);
}

static void a_pod_that_does_not_fit_is_told_why_a_vm_stays(void **state)
{
	WORLD(w);

	world_node_with(&w, "a", 16, NEW, "");
	world_node(&w, "b", 10);
	run_new(&w, "vm-1", "");
	world_says(world_fit(&w, world_urgent(&w, 14)),
		"no plan of 3 moves was found that makes ns/urgent fit: a "
		"comes closest, where it would fit without ns/vm-1, but no "
		"node takes ns/vm-1: its CPU model Icelake-Server is on no "
		"other node with room (1 node without it)");
	world_end(&w);
}

static void what_people_select_keeps_kube_schedulers_words(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node_with(&w, "a", 16, NEW ",'zone':'1'", "");
	world_node_with(&w, "b", 16, NEW, "");
	world_node(&w, "c", 16);
	run_new(&w, "vm-1", ",'zone':'1'");
	plan = drain(&w);
	assert_string_equal(plan->left[0].why,
		"finds no node: 2 node(s) didn't match Pod's node "
		"affinity/selector");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(the_cpu_model_that_is_nowhere_is_named, NULL,
			golden_end),
		golden_test(a_pod_that_does_not_fit_is_told_why_a_vm_stays,
			NULL, golden_end),
		golden_test(what_people_select_keeps_kube_schedulers_words,
			NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
