#include "scheduler/plan/state.h"

#include "tests/support/golden.h"
#include "tests/unit/scheduler/plan/plan_world.h"

static const struct plan_goal emptying = { .kind = PLAN_POD_FITS };

static void an_undone_step_leaves_no_trace(void **state)
{
	struct state s;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	(void)world_vm(&w, "vm-1", "a", 8);
	state_begin(&s, &w.input, &emptying);
	state_step(&s, 0, 1, PLAN_MOVE);
	assert_int_equal(s.vms[0].node, 1);
	assert_true(s.vms[0].has_moved);
	assert_int_equal(s.moves, 1);
	assert_int_equal(s.step_count, 1);
	assert_int_equal(s.nodes[0].touched, 1);
	assert_int_equal(s.nodes[1].touched, 1);
	assert_int_equal(s.nodes[0].node->pod_count, 0);
	assert_int_equal(s.nodes[1].node->pod_count, 1);
	state_undo_step(&s);
	assert_int_equal(s.vms[0].node, 0);
	assert_false(s.vms[0].has_moved);
	assert_int_equal(s.moves, 0);
	assert_int_equal(s.step_count, 0);
	assert_int_equal(s.nodes[0].touched, 0);
	assert_int_equal(s.nodes[1].touched, 0);
	assert_int_equal(s.nodes[0].node->pod_count, 1);
	assert_int_equal(s.nodes[1].node->pod_count, 0);
	state_end(&s);
	world_end(&w);
}

static void the_version_names_the_content(void **state)
{
	uint64_t first, second;
	struct state s;
	WORLD(w);

	world_node(&w, "a", 32);
	world_node(&w, "b", 32);
	(void)world_vm(&w, "vm-1", "a", 8);
	state_begin(&s, &w.input, &emptying);
	first = s.version;
	state_step(&s, 0, 1, PLAN_MOVE);
	second = s.version;
	assert_true(second != first);
	state_undo_step(&s);
	assert_true(s.version == first);
	state_step(&s, 0, 1, PLAN_MOVE);
	assert_true(s.version != first && s.version != second);
	state_undo_step(&s);
	state_end(&s);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		golden_test(an_undone_step_leaves_no_trace, NULL, golden_end),
		golden_test(the_version_names_the_content, NULL, golden_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
