#include "scheduler/make_room/make_room.h"

#include "tests/unit/scheduler/make_room/room_bed.h"

static void start_urgent(void)
{
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
}

static void searching_again_for_the_same_place_is_no_new_plan(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	put_stranger("large", "node-3", "15");
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	plan_for("node-1", "moving vms/b");
	plan_step("b", "node-1", "node-3");
	pass(80);
	assert_true(fake_planner.searches >= 2);
	assert_int_equal(fake_kubevirt.ordered, 1);
	(void)cache_remove_pod(&scene.cache, "large");
	pass(3);
	assert_int_equal(fake_kubevirt.ordered, 2);
	/* The first failure costs the first plan. */
	fake_kubevirt.vmis[1].failure_reason = uids[1];
	fake_kubevirt.vmis[1].migration_uid = fake_nothing;
	finish_move(1, MIGRATION_FAILED, node_1);
	pass(3);
	assert_string_equal(room.reason, "RoomLost");
	assert_int_equal(stats().given_up, 0);
}

static void no_move_is_ordered_during_a_search(void **state)
{
	(void)state;
	start_urgent();
	put_stranger("large", "node-2", "15");
	pass(5);
	for (int i = 0; i < 70; i++) {
		pass_idly();
	}
	assert_int_equal(fake_planner.count, 1);
	(void)cache_remove_pod(&scene.cache, "large");
	pass_idly();
	pass_idly();
	assert_int_equal(fake_kubevirt.ordered, 0);
	pass(2);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(searching_again_for_the_same_place_is_no_new_plan),
		TEST(no_move_is_ordered_during_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
