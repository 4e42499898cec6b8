#include "scheduler/plan/plan.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/load_world.h"

static const struct plan *empty(struct world *w, size_t node)
{
	return world_plan(w,
		&(struct plan_goal){ .kind = PLAN_NODE_EMPTY,
			.nodes = &node,
			.node_count = 1 });
}

/* The nodes become equally busy, not one after the other. */
static void assert_shared_out(struct world *w, const struct plan *plan)
{
	size_t counts[WORLD_VMS] = { 0 };

	assert_true(plan->is_found);
	assert_int_equal(plan->count, 6);
	for (size_t i = 0; i < plan->count; i++) {
		counts[plan->steps[i].target]++;
	}
	for (size_t i = 1; i < w->cluster.count && i < 4; i++) {
		assert_int_equal(counts[i], 2);
	}
}

static void the_vms_of_a_node_are_shared_out_among_targets(void **state)
{
	/* With many nodes, targets are listed for each class of VMs. */
	static const int nodes[] = { 4, 24 };

	for (size_t k = 0; k < count_of(nodes); k++) {
		WORLD(w);

		for (int i = 0; i < nodes[k]; i++) {
			scoped_free char *name = xasprintf("n-%02d", i);

			world_node(&w, name, i < 4 ? 200 : 1);
		}
		for (int i = 0; i < 6; i++) {
			scoped_free char *name = xasprintf("vm-%d", i);

			(void)world_vm(&w, name, "n-00", 2);
		}
		for (int i = 0; i < 4; i++) {
			scoped_free char *name = xasprintf("n-%02d", i);

			world_load(&w, name, i == 0 ? 12 : 1, 20);
		}
		w.input.max_moves = 10;
		assert_shared_out(&w, empty(&w, 0));
		assert_shared_out(&w, world_without(&w, 0));
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(the_vms_of_a_node_are_shared_out_among_targets,
			NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
