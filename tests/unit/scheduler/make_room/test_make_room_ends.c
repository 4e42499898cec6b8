#include "scheduler/make_room/make_room.h"

#include "tests/unit/scheduler/make_room/room_bed.h"

/* Both moves of the plan are ordered and copied. */
static void make_the_moves(void)
{
	pass(5);
	finish_move(0, MIGRATION_SUCCEEDED, node_2);
	pass(3);
	finish_move(1, MIGRATION_SUCCEEDED, node_3);
}

static void start_urgent(void)
{
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
}

static void tells_who_took_the_place_and_plans_anew_once(void **state)
{
	(void)state;
	start_urgent();
	make_the_moves();
	put_stranger("thief", "node-1", "4");
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	pass_idly();
	assert_null(attempt("urgent"));
	pass(1);
	assert_int_equal(stats().lost, 1);
	assert_string_equal(room.reason, "RoomLost");
	assert_in(room.event,
		"other/thief of scheduler default-scheduler took the place "
		"held for ns/urgent on node-1");
	pass(3);
	assert_string_equal(room.nominated, "node-2");
	assert_int_equal(fake_kubevirt.ordered, 3);
	/* The second place is taken as well. */
	finish_move(2, MIGRATION_SUCCEEDED, node_3);
	put_stranger("brother", "node-2", "4");
	pass(3);
	assert_int_equal(stats().lost, 2);
	assert_int_equal(stats().given_up, 1);
	assert_int_equal(stats().attempts, 0);
	assert_string_equal(room.reason, "RoomGivenUp");
	assert_in(room.event, "other/brother");
	assert_string_equal(room.nominated, "");
	assert_false(is_held("urgent"));
	assert_in(room.message, " plimsoll gave up making room: other/brother");
	assert_in(room.record, " plimsoll gave up making room.");
	assert_null(strstr(room.record, "other/"));
	for (size_t i = 0; i < scene.sent_count; i++) {
		assert_null(strstr(scene.sent[i].failure, "other/"));
	}
	assert_listed("\"state\":\"given_up\"");
}

static void a_new_plan_for_the_same_place_does_not_free_it(void **state)
{
	(void)state;
	start_urgent();
	make_the_moves();
	put_stranger("thief", "node-1", "4");
	plan_for("node-1", "the VMs that are leaving make room");
	pass_idly();
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(stats().lost, 1);
	assert_true(is_held("urgent"));
	fake_search(true);
	assert_true(is_held("urgent"));
	pass(2);
	/* It is the thief's no more: the plan knows of it. */
	assert_int_equal(stats().lost, 1);
	assert_int_equal(room.nominations, 1);
}

static void a_pod_that_was_given_up_rests_for_an_hour(void **state)
{
	unsigned searches;

	(void)state;
	start_urgent();
	pass(ROOM_TIMEOUT_S + 10);
	assert_int_equal(stats().given_up, 1);
	searches = fake_planner.searches;
	fake_clock_move(3000 * SECOND_US);
	assert_null(attempt("urgent"));
	pass(5);
	assert_int_equal(fake_planner.searches, searches);
	assert_int_equal(stats().attempts, 0);
	fake_clock_move(600 * SECOND_US);
	assert_null(attempt("urgent"));
	assert_int_equal(stats().attempts, 1);
}

static void gives_up_after_the_timeout_without_cancelling(void **state)
{
	struct migration *migration;

	(void)state;
	start_urgent();
	pass(5);
	migration = fake_migration(namespace, names[0], MIGRATION_RUNNING);
	migration->source = node_1;
	fake_kubevirt.options.on_ordered(fake_kubevirt.options.owner,
		fake_kubevirt.move_id, migration->name, "");
	tell(migration, &fake_kubevirt.vmis[0]);
	pass(ROOM_TIMEOUT_S - 10);
	assert_int_equal(stats().given_up, 0);
	pass(20);
	assert_int_equal(stats().given_up, 1);
	assert_in(room.message,
		"did not start within 600 s: 1 migrations leave node-1");
	assert_int_equal(fake_kubevirt.cancelled, 0);
	assert_int_equal(count_records(MOVE_RUNNING), 1);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_false(is_held("urgent"));
	assert_string_equal(room.nominated, "");
}

static void a_place_is_not_held_for_longer_than_the_timeout(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_for("node-1", "VMs that are leaving make room");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_true(is_held("urgent"));
	pass(ROOM_TIMEOUT_S + 10);
	assert_int_equal(stats().given_up, 1);
	assert_false(is_held("urgent"));
}

static void a_failed_move_costs_a_plan(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	fake_state(&fake_kubevirt.vmis[0])->failure_reason = uids[0];
	finish_move(0, MIGRATION_FAILED, node_1);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	pass(6);
	assert_int_equal(count_records(MOVE_FAILED), 1);
	assert_int_equal(fake_kubevirt.ordered, 2);
	assert_string_equal(room.nominated, "node-2");
	finish_move(2, MIGRATION_FAILED, node_2);
	pass(6);
	assert_int_equal(stats().given_up, 1);
	assert_int_equal(stats().lost, 0);
	assert_in(room.message,
		"the move of vms/c from node-2 to node-3 "
		"failed");
}

static void a_withdrawn_order_costs_a_plan(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	fake_kubevirt.options.on_ordered(fake_kubevirt.options.owner,
		fake_kubevirt.move_id, "", "the webhook refuses");
	pass(1);
	assert_string_equal(room.reason, "RoomLost");
	assert_in(room.event, "was withdrawn: the webhook refuses");
	assert_int_equal(stats().attempts, 1);
}

/* Agents measure a little later that a VM has left. */
static void measure_full(const char *node)
{
	struct node_load load = given_load(0, 60.0 * (1 << 30));
	scoped_free char *name = xstrdup(node);
	bool changed;

	load.name = name;
	cache_put_load(&scene.cache, &changed, &load, now_us(), now_us());
}

static void memory_that_is_not_measured_free_yet_is_awaited(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending_with("urgent", 1000, "15900m",
		"'overhead':{'memory':'16Gi'},");
	make_the_moves();
	/* A small pod came meanwhile, and is not why. */
	put_stranger("daemon", "node-1", "10m");
	measure_full("node-1");
	pass_idly();
	measure_full("node-1");
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(stats().lost, 0);
	assert_true(is_held("urgent"));
	room_loads();
	pass(6);
	assert_true(cache_is_assumed(&scene.cache, "urgent"));
}

static void a_place_that_stays_full_costs_a_plan(void **state)
{
	(void)state;
	start_urgent();
	make_the_moves();
	put_vm_on("e", "e", "node-1");
	plan_nothing("nothing fits.");
	pass(40);
	assert_int_equal(stats().lost, 1);
	assert_in(room.event, "vms/launcher-e");
}

static void a_deleted_pod_ends_its_attempt(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	assert_true(is_held("urgent"));
	queue_remove(&room.queue, "urgent");
	pass(1);
	assert_false(is_held("urgent"));
	assert_int_equal(stats().attempts, 0);
	/* The move that was ordered goes on. */
	assert_int_equal(count_records(MOVE_ORDERED), 1);
	assert_int_equal(fake_kubevirt.cancelled, 0);
}

static void a_pod_deleted_during_a_search_does_no_harm(void **state)
{
	(void)state;
	start_urgent();
	fake_clock_move(SECOND_US);
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(fake_planner.count, 1);
	queue_remove(&room.queue, "urgent");
	pass_idly();
	assert_int_equal(fake_planner.count, 0);
	fake_search(true);
	assert_int_equal(stats().attempts, 0);
	assert_int_equal(scene.sent_count, 0);
}

static void a_changed_pod_begins_anew(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	queue_find(&room.queue, "urgent")->pod->generation++;
	pass_idly();
	assert_int_equal(stats().attempts, 0);
	assert_false(is_held("urgent"));
	assert_string_equal(room.nominated, "");
}

static void a_more_urgent_pod_takes_the_place_of_the_least_urgent(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_nothing("nothing fits.");
	for (int i = 0; i < MAKE_ROOM_ATTEMPTS_MAX; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		put_pending(name, 100 + i, "15900m");
		assert_null(attempt(name));
	}
	put_pending("low", 50, "15900m");
	assert_null(attempt("low"));
	assert_int_equal(stats().attempts, MAKE_ROOM_ATTEMPTS_MAX);
	put_pending("high", 5000, "15900m");
	assert_null(attempt("high"));
	assert_int_equal(stats().attempts, MAKE_ROOM_ATTEMPTS_MAX);
	assert_listed("\"pod\":\"high\"");
	{
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
		struct json j = json_into(&out);

		json_object(&j, NULL);
		make_room_describe(room.room, &j);
		json_object_end(&j);
		assert_not_in(out.data, "\"pod\":\"p0\"");
		assert_not_in(out.data, "\"pod\":\"low\"");
	}
}

static void pods_that_nothing_helps_give_way_after_a_minute(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_nothing("nothing fits.");
	for (int i = 0; i < MAKE_ROOM_ATTEMPTS_MAX; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		put_pending(name, 100, "15900m");
		assert_null(attempt(name));
		pass_idly();
		fake_search(true);
	}
	put_pending("late", 100, "15900m");
	assert_null(attempt("late"));
	assert_int_equal(count_listed("\"pod\":\"late\""), 0);
	for (int i = 0; i < 60; i++) {
		pass_idly();
		fake_search(true);
	}
	assert_null(attempt("late"));
	assert_listed("\"pod\":\"late\"");
	assert_int_equal(count_listed("\"pod\":\"p0\""), 0);
	assert_int_equal(stats().attempts, MAKE_ROOM_ATTEMPTS_MAX);
	/* Less urgent pods never get the place. */
	put_pending("low", 99, "15900m");
	assert_null(attempt("low"));
	assert_int_equal(count_listed("\"pod\":\"low\""), 0);
}

static void several_pods_that_took_the_place_share_the_blame(void **state)
{
	(void)state;
	start_urgent();
	make_the_moves();
	put_stranger("one", "node-1", "2");
	put_stranger("two", "node-1", "2");
	pass_idly();
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(stats().lost, 1);
	assert_in(room.event,
		" of scheduler default-scheduler and other pods took the place "
		"held for ns/urgent on node-1");
}

static void a_pod_that_was_given_up_and_deleted_is_forgotten(void **state)
{
	(void)state;
	start_urgent();
	pass(ROOM_TIMEOUT_S + 10);
	assert_listed("\"state\":\"given_up\"");
	queue_remove(&room.queue, "urgent");
	pass_idly();
	assert_int_equal(count_listed("\"pod\""), 0);
}

static void a_pod_that_found_another_place_counts_as_no_room_made(void **state)
{
	(void)state;
	start_urgent();
	pass(5);
	assert_true(is_held("urgent"));
	(void)cache_remove_pod(&scene.cache, "pod-d");
	assert_string_equal(attempt("urgent"), "node-3");
	confirm("urgent");
	pass_idly();
	assert_int_equal(stats().attempts, 0);
	assert_int_equal(stats().made, 0);
}

static void a_full_planner_is_asked_again(void **state)
{
	(void)state;
	start_urgent();
	fake_planner.is_full = true;
	pass(5);
	assert_int_equal(fake_planner.searches, 0);
	fake_planner.is_full = false;
	pass(2);
	assert_int_equal(fake_planner.searches, 1);
}

#define TEST(f) golden_test(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_who_took_the_place_and_plans_anew_once),
		TEST(a_new_plan_for_the_same_place_does_not_free_it),
		TEST(a_pod_that_was_given_up_rests_for_an_hour),
		TEST(gives_up_after_the_timeout_without_cancelling),
		TEST(a_place_is_not_held_for_longer_than_the_timeout),
		TEST(a_failed_move_costs_a_plan),
		TEST(a_withdrawn_order_costs_a_plan),
		TEST(memory_that_is_not_measured_free_yet_is_awaited),
		TEST(a_place_that_stays_full_costs_a_plan),
		TEST(a_deleted_pod_ends_its_attempt),
		TEST(a_pod_deleted_during_a_search_does_no_harm),
		TEST(a_changed_pod_begins_anew),
		TEST(a_more_urgent_pod_takes_the_place_of_the_least_urgent),
		TEST(pods_that_nothing_helps_give_way_after_a_minute),
		TEST(several_pods_that_took_the_place_share_the_blame),
		TEST(a_pod_that_was_given_up_and_deleted_is_forgotten),
		TEST(a_pod_that_found_another_place_counts_as_no_room_made),
		TEST(a_full_planner_is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
