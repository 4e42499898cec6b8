#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/plan/plan_world.h"

#define WORLD(name)                                                            \
	struct world name;                                                     \
	(void)state;                                                           \
	world_begin(&name)

static void a_pod_that_fits_needs_no_move(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node(&w, "b", 64);
	plan = world_fit(&w, world_urgent(&w, 24));
	assert_true(plan->is_found);
	assert_int_equal(plan->count, 0);
	assert_int_equal(plan->node, 1);
	world_says(plan, "ns/urgent fits on b");
	world_end(&w);
}

static void the_smallest_vm_that_suffices_moves(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	(void)world_vm(&w, "vm-1", "a", 12);
	(void)world_vm(&w, "vm-2", "a", 8);
	(void)world_vm(&w, "vm-3", "b", 16);
	plan = world_fit(&w, world_urgent(&w, 20));
	assert_true(plan->is_found);
	world_says(plan, "ns/urgent fits on a after 1 move: ns/vm-2 to b");
	world_end(&w);
}

static void two_vms_leave_for_a_large_pod(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 24);
	world_node(&w, "c", 24);
	(void)world_vm(&w, "vm-1", "a", 8);
	(void)world_vm(&w, "vm-2", "a", 8);
	(void)world_vm(&w, "vm-3", "b", 16);
	(void)world_vm(&w, "vm-4", "c", 16);
	plan = world_fit(&w, world_urgent(&w, 32));
	assert_true(plan->is_found);
	world_says(plan,
		"ns/urgent fits on a after 2 moves: ns/vm-1 to b, "
		"ns/vm-2 to c");
	world_end(&w);
}

static void a_vm_without_a_target_pushes_another_one_away(void **state)
{
	const struct plan *plan;
	WORLD(w);

	world_node(&w, "a", 16);
	world_node_with(&w, "b", 16, "", "");
	world_node(&w, "c", 4);
	(void)world_vm(&w, "vm-1", "a", 14);
	(void)world_vm(&w, "vm-2", "b", 4);
	plan = world_fit(&w, world_urgent(&w, 16));
	assert_true(plan->is_found);
	world_says(plan, "ns/urgent fits on b after 1 move: ns/vm-2 to c");
	w.vms[1].pod->priority = 5;
	plan = world_plan(&w,
		&(struct plan_goal){ .kind = PLAN_VM_ELSEWHERE,
			.pod = w.vms[0].pod });
	assert_true(plan->is_found);
	world_says(plan,
		"ns/vm-1 leaves a after 2 moves: ns/vm-2 to c, "
		"ns/vm-1 to b");
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_that_fits_needs_no_move),
		cmocka_unit_test(the_smallest_vm_that_suffices_moves),
		cmocka_unit_test(two_vms_leave_for_a_large_pod),
		cmocka_unit_test(a_vm_without_a_target_pushes_another_one_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
