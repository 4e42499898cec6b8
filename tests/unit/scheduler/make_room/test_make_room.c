#include "scheduler/make_room/make_room.h"

#include "scheduler/make_room/room_pods.h"
#include "tests/unit/scheduler/make_room/room_bed.h"

static void recommends_each_move_once_and_says_so(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(stats().attempts, 1);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 2);
	assert_int_equal(scene.sent_count, 2);
	assert_string_equal(scene.sent[0].room_for, "ns/urgent");
	assert_int_equal(scene.sent[0].reason, MOVE_FOR_ROOM);
	assert_in(room.message,
		" plimsoll can make room: moving vms/a and vms/b");
	assert_in(room.record, ". plimsoll can make room.");
	assert_null(strstr(room.record, "vms/"));
	assert_string_equal(room.reason, "RoomRecommended");
	assert_in(room.event, "moving vms/a and vms/b");
	assert_listed("\"state\":\"recommended\"");
	assert_listed("\"source\":\"node-1\",\"target\":\"node-3\"");
	/* Searches again, and the same moves keep their records. */
	pass(130);
	assert_true(fake_planner.searches >= 3);
	assert_int_equal(scene.sent_count, 2);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_false(is_held("urgent"));
}

static void a_better_plan_withdraws_the_moves_of_the_last_one(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	pass(70);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 1);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 2);
	assert_in(room.message, "moving vms/c");
}

static void a_pod_that_is_placed_needs_no_recommendations(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	(void)cache_remove_pod(&scene.cache, "pod-a");
	(void)cache_remove_pod(&scene.cache, "pod-b");
	assert_string_equal(attempt("urgent"), "node-1");
	confirm("urgent");
	pass(1);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 2);
	assert_int_equal(stats().attempts, 0);
	assert_int_equal(stats().made, 0);
}

static void without_a_plan_says_what_came_closest(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_nothing("no node can be emptied.");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_in(room.message,
		" plimsoll cannot make room: no node can be emptied.");
	assert_in(room.record, " plimsoll cannot make room.");
	assert_int_equal(stats().without_plan, 1);
	pass(130);
	assert_true(fake_planner.searches >= 3);
	assert_int_equal(stats().without_plan, 1);
	assert_string_equal(room.nominated, "-");
}

static void pods_that_no_move_can_help_have_no_attempt(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("target", 1000, "15900m")->pod->is_target = true;
	put_pending_with("picky", 1000, "1", "'nodeSelector':{'disk':'fast'},");
	pass(5);
	assert_int_equal(fake_planner.searches, 0);
	assert_int_equal(stats().attempts, 0);
}

static void volumes_that_a_vm_takes_along_qualify(void **state)
{
	const uint64_t one = UINT64_C(1) << REASON_VOLUMES;

	(void)state;
	assert_true(room_pods_may_fit(one << VOLUMES_DISK));
	assert_true(room_pods_may_fit(one << VOLUMES_IN_USE));
	assert_true(room_pods_may_fit(one << VOLUMES_COUNT));
	assert_false(room_pods_may_fit(one << VOLUMES_AFFINITY));
	assert_false(room_pods_may_fit(one << VOLUMES_ZONE));
}

static void orders_the_moves_in_turn_and_holds_the_place(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	/* Until KubeVirt shows the first migration, there is no second. */
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_string_equal(fake_kubevirt.hostname, "host-node-2");
	assert_true(is_held("urgent"));
	assert_string_equal(room.nominated, "node-1");
	assert_string_equal(room.reason, "MakingRoom");
	assert_in(room.message, " plimsoll makes room on node-1: moving");
	assert_in(room.record, " plimsoll makes room on node-1.");
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	pass(3);
	assert_int_equal(fake_kubevirt.ordered, 2);
	assert_string_equal(fake_kubevirt.hostname, "host-node-3");
	finish_move(1, MIGRATION_SUCCEEDED, node_3);
	pass(2);
	assert_true(cache_is_assumed(&scene.cache, "urgent"));
	assert_false(is_held("urgent"));
	confirm("urgent");
	pass(1);
	assert_int_equal(stats().made, 1);
	assert_int_equal(stats().attempts, 0);
	assert_int_equal(room.nominations, 1);
	assert_true(stats().orders);
	assert_int_equal(count_records(MOVE_SUCCEEDED), 2);
}

static void a_held_place_is_for_pods_of_higher_priority_alone(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	pass(3);
	(void)cache_remove_pod(&scene.cache, "pod-b");
	put_pending("low", 10, "15");
	assert_null(attempt("low"));
	put_pending("high", 2000, "15");
	assert_non_null(attempt("high"));
}

static void a_refused_binding_holds_the_place_again(void **state)
{
	struct queued_pod *queued;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	pass(3);
	finish_move(1, MIGRATION_SUCCEEDED, node_3);
	pass(2);
	assert_false(is_held("urgent"));
	queued = queue_find(&room.queue, "urgent");
	queued->pod = cache_forget(&scene.cache, "urgent");
	queue_failed(&room.queue, queued, false, now_us());
	pass_idly();
	assert_true(is_held("urgent"));
	assert_int_equal(stats().attempts, 1);
}

static void a_refused_order_waits_and_says_why(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	fake_kubevirt.limits.per_cluster = 1;
	fake_kubevirt.migration_count = 0;
	fake_migration(namespace, names[3], MIGRATION_RUNNING)->is_ours = false;
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_listed("\"state\":\"planned\"");
	assert_listed("\"why\":\"");
	assert_listed("unfinished");
	assert_int_equal(count_records(MOVE_ORDERED), 0);
	fake_kubevirt.migration_count = 0;
	pass(2);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void no_place_is_held_while_nothing_may_be_ordered(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_stranger("large", "node-2", "15");
	put_pending("urgent", 1000, "15900m");
	pass(ROOM_TIMEOUT_S + 20);
	assert_false(is_held("urgent"));
	assert_string_equal(room.nominated, "-");
	assert_int_equal(stats().given_up, 0);
	(void)cache_remove_pod(&scene.cache, "large");
	pass(2);
	assert_true(is_held("urgent"));
}

static void the_most_urgent_pod_is_first(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("usual", 10, "15900m");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_string_equal(scene.sent[0].room_for, "ns/urgent");
	assert_true(is_held("urgent"));
	assert_false(is_held("usual"));
}

static void a_move_waits_until_its_target_admits_the_vm(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_stranger("large", "node-2", "15");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_listed("vms/a does not fit on node-2 yet");
	(void)cache_remove_pod(&scene.cache, "large");
	pass(1);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void only_recommends_while_kubevirt_refuses_orders(void **state)
{
	(void)state;
	fake_kubevirt.not_ordering = "the right to create is missing";
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 2);
	assert_false(stats().orders);
	fake_kubevirt.not_ordering = NULL;
	pass(2);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(count_records(MOVE_ORDERED), 1);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 1);
}

#define TEST(f) golden_test(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recommends_each_move_once_and_says_so),
		TEST(a_better_plan_withdraws_the_moves_of_the_last_one),
		TEST(a_pod_that_is_placed_needs_no_recommendations),
		TEST(without_a_plan_says_what_came_closest),
		TEST(pods_that_no_move_can_help_have_no_attempt),
		TEST(volumes_that_a_vm_takes_along_qualify),
		TEST(orders_the_moves_in_turn_and_holds_the_place),
		TEST(a_held_place_is_for_pods_of_higher_priority_alone),
		TEST(a_refused_binding_holds_the_place_again),
		TEST(a_refused_order_waits_and_says_why),
		TEST(no_place_is_held_while_nothing_may_be_ordered),
		TEST(the_most_urgent_pod_is_first),
		TEST(a_move_waits_until_its_target_admits_the_vm),
		TEST(only_recommends_while_kubevirt_refuses_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
