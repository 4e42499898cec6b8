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
	fake_state(&fake_kubevirt.vmis[1])->failure_reason = uids[1];
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

static void no_more_moves_lead_to_a_place_that_was_taken(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	put_stranger("thief", "node-1", "4");
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	pass(4);
	assert_int_equal(stats().lost, 1);
	assert_int_equal(fake_kubevirt.ordered, 2);
	assert_string_equal(scene.sent[scene.sent_count - 1].vm, "c");
	assert_string_equal(room.nominated, "node-2");
}

static void a_pod_that_does_no_harm_costs_no_plan(void **state)
{
	unsigned searches;

	(void)state;
	start_urgent();
	pass(5);
	searches = fake_planner.searches;
	put_stranger("daemon", "node-1", "10m");
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	plan_for("node-1", "moving vms/b");
	plan_step("b", "node-1", "node-3");
	pass(4);
	assert_int_equal(fake_planner.searches, searches + 1);
	assert_int_equal(stats().lost, 0);
	assert_int_equal(fake_kubevirt.ordered, 2);
	assert_true(is_held("urgent"));
}

static void a_place_without_moves_can_be_lost_as_well(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_for("node-1", "the VMs that are leaving make room");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_true(is_held("urgent"));
	put_stranger("thief", "node-1", "4");
	plan_nothing("nothing fits.");
	pass(4);
	assert_int_equal(stats().lost, 1);
	assert_false(is_held("urgent"));
	assert_string_equal(room.reason, "RoomLost");
	assert_string_equal(room.nominated, "");
}

static void without_a_plan_searches_soon_and_then_less_often(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_nothing("nothing fits.");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(fake_planner.searches, 1);
	pass(10);
	assert_int_equal(fake_planner.searches, 2);
	pass(15);
	assert_int_equal(fake_planner.searches, 2);
	pass(7);
	assert_int_equal(fake_planner.searches, 3);
	pass(42);
	assert_int_equal(fake_planner.searches, 4);
	pass(62);
	assert_int_equal(fake_planner.searches, 5);
	pass(45);
	assert_int_equal(fake_planner.searches, 5);
}

static void a_recommendation_stays_if_the_next_is_not_shorter(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	plan_for("node-3", "moving vms/d");
	plan_step("d", "node-3", "node-2");
	pass(70);
	assert_true(fake_planner.searches >= 2);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 0);
	assert_in(room.message, "moving vms/c");
	/* Its target no longer admits the VM. */
	put_stranger("large", "node-3", "15");
	pass(70);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 1);
	assert_in(room.message, "moving vms/d");
}

static void a_recommendation_goes_if_another_pod_came_to_its_node(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	put_stranger("daemon", "node-2", "1");
	plan_for("node-3", "moving vms/d");
	plan_step("d", "node-3", "node-2");
	pass(70);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 1);
	assert_in(room.message, "moving vms/d");
}

static void a_search_that_ends_without_the_lease_changes_nothing(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(fake_planner.count, 1);
	scene.leads = false;
	fake_search(true);
	assert_int_equal(count_listed("\"node\":\"node-1\""), 0);
	assert_listed("\"plan\":\"\"");
}

static void withdraws_moves_without_a_better_plan(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	plan_nothing("nothing fits.");
	pass(70);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 2);
	assert_string_equal(scene.sent[scene.sent_count - 1].failure,
		"no plan leads to room any more");
}

#define TEST(f) golden_test(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(searching_again_for_the_same_place_is_no_new_plan),
		TEST(no_move_is_ordered_during_a_search),
		TEST(no_more_moves_lead_to_a_place_that_was_taken),
		TEST(a_pod_that_does_no_harm_costs_no_plan),
		TEST(a_place_without_moves_can_be_lost_as_well),
		TEST(without_a_plan_searches_soon_and_then_less_often),
		TEST(a_recommendation_stays_if_the_next_is_not_shorter),
		TEST(a_recommendation_goes_if_another_pod_came_to_its_node),
		TEST(a_search_that_ends_without_the_lease_changes_nothing),
		TEST(withdraws_moves_without_a_better_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
