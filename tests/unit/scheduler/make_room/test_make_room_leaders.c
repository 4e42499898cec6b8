#include "scheduler/make_room/make_room.h"

#include "tests/unit/scheduler/make_room/room_bed.h"

/* The process ends, and another one begins: the aggregators have the last
 * revision of each record. The API server has the pod. */
static void change_leader(enum mover_mode mode)
{
	scene.earlier_count = 0;
	for (size_t i = scene.sent_count; i > 0 && scene.earlier_count < 4;
		i--) {
		const struct move_record *sent = &scene.sent[i - 1];
		bool is_old = false;

		for (size_t k = 0; k < scene.earlier_count; k++) {
			is_old |= strcmp(scene.earlier[k].id, sent->id) == 0;
		}
		if (!is_old) {
			scene.earlier[scene.earlier_count++] = *sent;
		}
	}
	room_stop();
	room.nominations = 0;
	(void)snprintf(room.nominated, sizeof(room.nominated), "-");
	room_start(mode);
}

static void a_new_leader_waits_for_the_moves_of_the_last_one(void **state)
{
	struct migration *migration;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(fake_kubevirt.ordered, 1);
	migration = fake_migration(namespace, names[2], MIGRATION_RUNNING);
	tell(migration, &fake_kubevirt.vmis[2]);
	change_leader(MOVER_AUTOMATIC);
	assert_false(is_held("urgent"));
	plan_for("node-2", "the VMs that are leaving make room");
	/* The pod comes before the records. */
	assert_null(attempt("urgent"));
	pass(6);
	assert_true(is_held("urgent"));
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_listed("\"state\":\"moving\"");
	assert_listed("\"vm\":\"c\"");
	finish_move(2, MIGRATION_SUCCEEDED, node_3);
	pass(3);
	assert_true(cache_is_assumed(&scene.cache, "urgent"));
	queue_remove(&room.queue, "urgent");
	pass(1);
	assert_int_equal(stats().made, 1);
}

static void the_timeout_counts_from_the_first_order(void **state)
{
	struct migration *migration;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	migration = fake_migration(namespace, names[0], MIGRATION_RUNNING);
	tell(migration, &fake_kubevirt.vmis[0]);
	pass(300);
	change_leader(MOVER_AUTOMATIC);
	assert_null(attempt("urgent"));
	pass(ROOM_TIMEOUT_S - 330);
	assert_int_equal(stats().given_up, 0);
	pass(60);
	assert_int_equal(stats().given_up, 1);
}

/* The aggregators answer after some time. */
static void hide_history(size_t *earlier)
{
	*earlier = scene.earlier_count;
	scene.earlier_count = 0;
	scene.has_history = false;
}

static void show_history(size_t earlier)
{
	scene.has_history = true;
	for (size_t i = 0; i < earlier; i++) {
		mover_remember(scene.mover, &scene.earlier[i]);
	}
}

static void a_vm_that_is_on_its_way_is_not_moved_twice(void **state)
{
	struct migration *migration;
	size_t earlier;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	migration = fake_migration(namespace, names[0], MIGRATION_RUNNING);
	tell(migration, &fake_kubevirt.vmis[0]);
	change_leader(MOVER_AUTOMATIC);
	hide_history(&earlier);
	assert_null(attempt("urgent"));
	pass_idly();
	assert_int_equal(fake_planner.count, 1);
	show_history(earlier);
	pass_idly();
	fake_search(true);
	pass_idly();
	assert_listed("\"vm\":\"a\"");
	assert_int_equal(count_listed("\"vm\":\"a\""), 1);
}

static void the_timeout_counts_also_if_the_records_come_after_the_pod(
	void **state)
{
	struct migration *migration;
	size_t earlier;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	migration = fake_migration(namespace, names[0], MIGRATION_RUNNING);
	tell(migration, &fake_kubevirt.vmis[0]);
	pass(300);
	change_leader(MOVER_AUTOMATIC);
	hide_history(&earlier);
	queue_hurry(&room.queue, "urgent");
	pass(2);
	assert_int_equal(stats().attempts, 1);
	show_history(earlier);
	pass(ROOM_TIMEOUT_S - 330);
	assert_int_equal(stats().given_up, 0);
	pass(60);
	assert_int_equal(stats().given_up, 1);
}

static void a_new_leader_holds_the_place_before_it_has_a_plan(void **state)
{
	size_t earlier;

	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	change_leader(MOVER_AUTOMATIC);
	hide_history(&earlier);
	assert_null(attempt("urgent"));
	pass_idly();
	assert_false(is_held("urgent"));
	show_history(earlier);
	pass_idly();
	assert_int_equal(fake_planner.count, 1);
	assert_true(is_held("urgent"));
	assert_listed("\"holds_the_place\":true");
	/* The same place stays held, and is not written again. */
	fake_search(true);
	pass(3);
	assert_true(is_held("urgent"));
	assert_int_equal(room.nominations, 0);
}

static void a_new_leader_without_a_plan_takes_the_name_back(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	change_leader(MOVER_AUTOMATIC);
	assert_null(attempt("urgent"));
	pass_idly();
	assert_true(is_held("urgent"));
	plan_nothing("nothing fits.");
	pass(3);
	assert_false(is_held("urgent"));
	assert_string_equal(room.nominated, "");
}

static void a_lost_nomination_is_written_again(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	room.loses_nominations = true;
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(15);
	assert_true(room.nominations >= 2);
	room.loses_nominations = false;
	pass(6);
	room.nominations = 0;
	pass(15);
	assert_int_equal(room.nominations, 0);
}

static void a_new_leader_keeps_recommendations_that_hold(void **state)
{
	size_t sent;

	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	change_leader(MOVER_RECOMMEND);
	sent = scene.sent_count;
	pass(2);
	queue_hurry(&room.queue, "urgent");
	pass(100);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 2);
	assert_int_equal(scene.sent_count, sent);
}

static void a_new_leader_withdraws_recommendations_for_nobody(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	change_leader(MOVER_RECOMMEND);
	queue_remove(&room.queue, "urgent");
	pass(70);
	assert_int_equal(count_records(MOVE_RECOMMENDED), 0);
	assert_int_equal(count_records(MOVE_WITHDRAWN), 2);
}

static void orders_of_an_earlier_mode_are_not_continued(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	change_leader(MOVER_RECOMMEND);
	plan_for("node-2", "moving vms/c");
	plan_step("c", "node-2", "node-3");
	pass(2);
	queue_hurry(&room.queue, "urgent");
	pass(5);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_listed("\"state\":\"recommended\"");
	assert_false(is_held("urgent"));
	assert_string_equal(room.nominated, "");
}

static void without_the_lease_holds_nothing(void **state)
{
	(void)state;
	room_start(MOVER_AUTOMATIC);
	plan_two();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_true(is_held("urgent"));
	scene.leads = false;
	pass_idly();
	assert_false(is_held("urgent"));
	assert_int_equal(stats().attempts, 0);
	assert_int_equal(room.nominations, 1);
}

static void a_nomination_that_somebody_else_wrote_stays(void **state)
{
	(void)state;
	room_start(MOVER_RECOMMEND);
	plan_two();
	xreplace(&put_pending("urgent", 1000, "15900m")->pod->nominated_node,
		"node-3");
	pass(70);
	assert_int_equal(room.nominations, 0);
}

#define TEST(f) golden_test(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_leader_waits_for_the_moves_of_the_last_one),
		TEST(a_vm_that_is_on_its_way_is_not_moved_twice),
		TEST(the_timeout_counts_from_the_first_order),
		TEST(the_timeout_counts_also_if_the_records_come_after_the_pod),
		TEST(a_new_leader_holds_the_place_before_it_has_a_plan),
		TEST(a_new_leader_without_a_plan_takes_the_name_back),
		TEST(a_lost_nomination_is_written_again),
		TEST(a_new_leader_keeps_recommendations_that_hold),
		TEST(a_new_leader_withdraws_recommendations_for_nobody),
		TEST(orders_of_an_earlier_mode_are_not_continued),
		TEST(without_the_lease_holds_nothing),
		TEST(a_nomination_that_somebody_else_wrote_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
