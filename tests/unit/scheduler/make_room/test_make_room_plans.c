#include "scheduler/make_room/make_room.h"

#define FAKE_REAL_PLANS
#include "scheduler/mover/move_actions.h"
#include "tests/unit/scheduler/make_room/room_bed.h"

/* KubeVirt copies what is ordered. Returns the number of moves. */
static unsigned copy_all(void)
{
	const struct move_records *records =
		move_actions_records(mover_actions(scene.mover));
	struct move_record *record;
	unsigned count = 0;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (move_is_open(record)) {
			char *const nodes[] = { node_1, node_2, node_3 };

			finish_move((size_t)(record->vm[0] - 'a'),
				MIGRATION_SUCCEEDED,
				nodes[record->target[5] - '1']);
			count++;
		}
	}
	return count;
}

/* Returns the number of moves after which the pod is placed. */
static unsigned make_room_for(const char *uid)
{
	unsigned moves = 0;

	for (int i = 0; i < 60 && !cache_is_assumed(&scene.cache, uid); i++) {
		pass(1);
		moves += copy_all();
	}
	given_check(cache_is_assumed(&scene.cache, uid), room.message);
	return moves;
}

/* Two on each node. */
static void put_more_vms(void)
{
	put_old_vm(4, node_2);
	put_old_vm(5, node_3);
}

/* The VMs have been observed for long enough. */
static void begin(void)
{
	room_start(MOVER_AUTOMATIC);
	pass(30);
}

static void one_move_empties_a_node_with_one_vm(void **state)
{
	(void)state;
	begin();
	put_pending("urgent", 1000, "15900m");
	assert_int_equal(make_room_for("urgent"), 1);
}

static void two_moves_empty_a_node_with_two_vms(void **state)
{
	(void)state;
	put_more_vms();
	begin();
	put_pending("urgent", 1000, "15900m");
	assert_int_equal(make_room_for("urgent"), 2);
	assert_string_equal(room.reason, "MakingRoom");
	confirm("urgent");
	pass(1);
	assert_int_equal(stats().made, 1);
	assert_int_equal(fake_kubevirt.ordered, 2);
}

static void vms_of_the_same_priority_stay(void **state)
{
	(void)state;
	begin();
	put_pending("usual", 0, "15900m");
	pass(10);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_int_equal(stats().without_plan, 1);
	assert_in(room.message, " plimsoll cannot make room: ");
}

static void a_new_leader_completes_the_plan_of_the_last_one(void **state)
{
	struct migration *migration;

	(void)state;
	put_more_vms();
	begin();
	put_pending("urgent", 1000, "15900m");
	pass(5);
	assert_int_equal(fake_kubevirt.ordered, 1);
	migration = fake_migration(namespace,
		scene.sent[scene.sent_count - 1].vm, MIGRATION_RUNNING);
	tell(migration, &fake_kubevirt.vmis[0]);
	scene.earlier[0] = scene.sent[scene.sent_count - 1];
	scene.earlier_count = 1;
	room_stop();
	room_start(MOVER_AUTOMATIC);
	pass(2);
	queue_hurry(&room.queue, "urgent");
	pass(3);
	assert_true(is_held("urgent"));
	assert_int_equal(make_room_for("urgent"), 2);
	assert_int_equal(fake_kubevirt.ordered, 2);
}

#define TEST(f) golden_test(f, room_setup, room_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_move_empties_a_node_with_one_vm),
		TEST(two_moves_empty_a_node_with_two_vms),
		TEST(vms_of_the_same_priority_stay),
		TEST(a_new_leader_completes_the_plan_of_the_last_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
