#include "scheduler/mover/conflicts.h"

#include "tests/support/cm.h"

#define MINUTE_US UINT64_C(60000000)
#define NOW_US UINT64_C(1800000000000000)

static const struct move_record moved = {
	.namespace = "prod",
	.vm = "web",
	.source = "node-1",
	.target = "node-2",
	.state = MOVE_SUCCEEDED,
	.ended_us = NOW_US,
};

static void a_vm_that_others_move_on_is_left_alone(void **state)
{
	struct conflicts conflicts = { 0 };

	(void)state;
	assert_true(conflicts_observe(&conflicts, &moved, "node-2",
		NOW_US + 119 * MINUTE_US));
	assert_int_equal(conflicts_until(&conflicts, "prod", "web",
				 NOW_US + 120 * MINUTE_US),
		NOW_US + 119 * MINUTE_US + CONFLICTS_ALONE_US);
	assert_int_equal(conflicts_until(&conflicts, "prod", "db", NOW_US), 0);
	/* Once is enough. */
	assert_false(conflicts_observe(&conflicts, &moved, "node-2",
		NOW_US + 120 * MINUTE_US));
	assert_int_equal(conflicts_count(&conflicts, NOW_US + 120 * MINUTE_US),
		1);
	assert_int_equal(conflicts_count(&conflicts,
				 NOW_US + CONFLICTS_ALONE_US + 119 * MINUTE_US),
		0);
	conflicts_fini(&conflicts);
}

static void later_moves_and_other_nodes_are_no_conflict(void **state)
{
	struct conflicts conflicts = { 0 };

	(void)state;
	assert_false(conflicts_observe(&conflicts, NULL, "node-2", NOW_US));
	assert_false(conflicts_observe(&conflicts, &moved, "node-3", NOW_US));
	assert_false(conflicts_observe(&conflicts, &moved, "node-2",
		NOW_US + 121 * MINUTE_US));
	conflicts_fini(&conflicts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_that_others_move_on_is_left_alone),
		cmocka_unit_test(later_moves_and_other_nodes_are_no_conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
