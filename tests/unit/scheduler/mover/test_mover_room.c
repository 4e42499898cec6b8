/* Moves that make room for a pod, beside the rounds and without them. */
#include "scheduler/mover/mover.h"

#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/move_words.h"
#include "tests/unit/scheduler/mover/mover_bed.h"

static struct move_actions *actions;

static void start_with(enum mover_mode mode, enum mover_mode room_mode)
{
	start_mover(mode, room_mode);
	actions = mover_actions(scene.mover);
	run(3, 0.5);
}

/* The move of the pod's VM to node-2. */
static struct proposal given_proposal_of(const char *pod_uid)
{
	struct pod *urgent = given_pod(scene.cache.interner,
		"{'metadata':{'name':'urgent','namespace':'vms',"
		"'uid':'pod-urgent'}}");
	struct proposal proposal = { 0 };

	move_words_for_room(&proposal.record,
		&(struct move_words_room){
			.vm = cache_pod(&scene.cache, pod_uid),
			.source = "node-1",
			.target = "node-2",
			.room_for = urgent,
			.node = "node-1",
			.number = 1,
			.count = 2,
			.source_load_before = NAN,
			.source_load_after = NAN,
			.target_load_before = 0.4,
			.target_load_after = 0.45,
			.memory_bytes = 4e9,
		});
	pod_free(urgent);
	(void)snprintf(proposal.pod_uid, sizeof(proposal.pod_uid), "%s",
		pod_uid);
	return proposal;
}

static struct proposal given_proposal(void)
{
	return given_proposal_of("pod-a");
}

static bool try_move(struct proposal *proposal, struct buffer *why)
{
	return move_actions_order(actions, proposal, why, moment_now());
}

static void assert_refused(const char *sentence)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct proposal proposal = given_proposal();

	assert_false(try_move(&proposal, &why));
	assert_string_equal(why.data, sentence);
	assert_int_equal(fake_kubevirt.ordered, 0);
}

static void assert_ordered(struct proposal *proposal)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	given_check(try_move(proposal, &why), why.len == 0 ? "" : why.data);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(proposal->record.state, MOVE_ORDERED);
	assert_string_equal(fake_kubevirt.move_id, proposal->record.id);
}

static void recommend(struct proposal *proposal)
{
	move_actions_recommend(actions, proposal, moment_now());
}

static void assert_recommendations(size_t count)
{
	struct mover_stats stats;

	mover_stats(scene.mover, &stats);
	assert_int_equal(stats.recommendations, count);
}

static void without_rebalancing_no_round_looks_for_moves(void **state)
{
	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	run(600, 6);
	assert_int_equal(scene.sent_count, 0);
	assert_says(
		"\"mode\":\"off\",\"effective_mode\":\"off\","
		"\"make_room\":\"automatic\"");
	assert_says("\"why\":\"--rebalance is off\"");
	assert_says("\"last_round\":{\"time\":null");
}

static void a_move_for_room_is_ordered_and_says_for_whom(void **state)
{
	struct proposal proposal;

	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	proposal = given_proposal();
	assert_ordered(&proposal);
	assert_true(is_reserved());
	assert_string_equal(last_sent()->room_for, "vms/urgent");
	assert_string_equal(last_sent()->room_for_uid, "pod-urgent");
	assert_string_equal(last_sent()->sentence,
		"makes room for vms/urgent on node-1, move 1 of 2; node-2 is "
		"expected to use 40 % of its cores, and 45 % with the VM");
	assert_string_equal(scene.event, "MoveOrdered");
	assert_says("\"in_flight\":[{\"id\":\"");
	assert_says("\"reason\":\"room\",\"room_for\":\"vms/urgent\"");
}

static void room_is_made_outside_the_windows(void **state)
{
	struct proposal proposal;

	(void)state;
	/* WALL_US is on a Friday. */
	assert_int_equal(windows_parse(&scene.windows, "Mon 22:00-23:00", NULL),
		0);
	start_with(MOVER_AUTOMATIC, MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	proposal = given_proposal();
	assert_ordered(&proposal);
}

static void the_flag_of_making_room_decides(void **state)
{
	(void)state;
	start_with(MOVER_AUTOMATIC, MOVER_RECOMMEND);
	assert_refused("--make-room is recommend");
}

static void kubevirts_limits_hold_for_room_as_well(void **state)
{
	struct migration *other;

	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	fake_kubevirt.limits.per_cluster = 1;
	other = fake_migration(namespace, names[1], MIGRATION_SCHEDULING);
	other->is_ours = false;
	assert_refused(
		"1 migrations are unfinished, and moves stay below "
		"KubeVirt's limit of 1");
}

static void an_order_that_kubevirt_has_not_shown_counts_on_its_nodes(
	void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct proposal first, second;

	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	first = given_proposal();
	second = given_proposal_of("pod-b");
	assert_ordered(&first);
	assert_false(try_move(&second, &why));
	assert_string_equal(why.data, "1 migrations leave node-1");
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void the_pause_after_failures_holds_for_room_as_well(void **state)
{
	static const char *const ids[] = { "1", "2", "3" };

	(void)state;
	for (size_t i = 0; i < count_of(ids); i++) {
		struct move_record *record =
			&scene.earlier[scene.earlier_count++];

		*record = (struct move_record){ .revision = 3,
			.namespace = "vms",
			.vm = "other",
			.source = "node-2",
			.target = "node-1",
			.state = MOVE_FAILED,
			.wall_us = WALL_US,
			.ordered_us = WALL_US,
			.ended_us = WALL_US };
		(void)snprintf(record->id, sizeof(record->id), "%s", ids[i]);
	}
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	assert_refused(
		"3 moves in a row failed in the VM's namespace, and its moves "
		"are paused until "
		"2027-01-15T08:30:00Z");
}

static void a_vm_that_must_stay_is_not_moved_by_an_older_plan(void **state)
{
	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	fake_kubevirt.vmis[0].consent = CONSENT_NEVER;
	assert_refused(
		"the VM must not be moved: an annotation of the VMI "
		"forbids it");
}

/* KubeVirt's reason may name volumes, and /v1/rebalance tells why to all. */
static void why_a_round_orders_nothing_leaves_out_kubevirts_reason(void **state)
{
	static char reason[] = "PVC vault-data is not shared";
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct proposal proposal;

	(void)state;
	start_with(MOVER_AUTOMATIC, MOVER_AUTOMATIC);
	fake_kubevirt.vmis[0].is_migratable = false;
	fake_kubevirt.vmis[0].why_not = reason;
	assert_refused(
		"the VM cannot be migrated: PVC vault-data is not shared");
	proposal = given_proposal();
	proposal.record.reason = MOVE_FOR_CPU;
	assert_false(try_move(&proposal, &why));
	assert_string_equal(why.data, "the VM cannot be migrated");
}

static void a_vm_that_moved_lately_has_a_cooldown(void **state)
{
	(void)state;
	scene.earlier[scene.earlier_count++] =
		(struct move_record){ .id = "last",
			.revision = 3,
			.namespace = "vms",
			.vm = "a",
			.vmi_uid = "vmi-a",
			.source = "node-2",
			.target = "node-1",
			.state = MOVE_SUCCEEDED,
			.reason = MOVE_FOR_ROOM,
			.wall_us = WALL_US };
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	assert_refused("the VM is in the cooldown after its last move");
}

static void a_recommendation_is_recorded_once_and_can_become_an_order(
	void **state)
{
	struct proposal proposal;
	char id[MOVE_ID_MAX];

	(void)state;
	start_with(MOVER_OFF, MOVER_AUTOMATIC);
	proposal = given_proposal();
	recommend(&proposal);
	assert_int_equal(scene.sent_count, 1);
	assert_string_equal(scene.event, "MoveRecommended");
	memcpy(id, proposal.record.id, sizeof(id));
	recommend(&proposal);
	assert_int_equal(scene.sent_count, 1);
	assert_says("\"recommendations\":[{\"id\":\"");
	assert_recommendations(1);
	assert_ordered(&proposal);
	assert_string_equal(proposal.record.id, id);
	assert_says("\"recommendations\":[]");
	assert_recommendations(0);
}

static void a_withdrawn_recommendation_gets_a_new_record(void **state)
{
	struct proposal proposal;
	char id[MOVE_ID_MAX];

	(void)state;
	start_with(MOVER_OFF, MOVER_RECOMMEND);
	proposal = given_proposal();
	recommend(&proposal);
	memcpy(id, proposal.record.id, sizeof(id));
	move_actions_withdraw(actions, id, NULL, moment_now());
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
	move_actions_withdraw(actions, id, NULL, moment_now());
	assert_int_equal(scene.sent_count, 2);
	recommend(&proposal);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_string_not_equal(last_sent()->id, id);
}

static void remember_recommended(enum move_reason reason)
{
	scene.earlier[scene.earlier_count++] =
		(struct move_record){ .id = "earlier",
			.revision = 2,
			.namespace = "vms",
			.vm = "a",
			.vmi_uid = "vmi-a",
			.source = "node-1",
			.target = "node-2",
			.state = MOVE_RECOMMENDED,
			.reason = reason,
			.room_for = "vms/urgent",
			.wall_us = WALL_US };
}

static void rounds_leave_an_earlier_leaders_room_alone(void **state)
{
	(void)state;
	remember_recommended(MOVE_FOR_ROOM);
	start_with(MOVER_RECOMMEND, MOVER_RECOMMEND);
	run(300, 0.5);
	assert_int_equal(scene.sent_count, 0);
	assert_says("\"id\":\"earlier\"");
}

static void recommendations_that_nobody_renews_are_withdrawn(void **state)
{
	(void)state;
	remember_recommended(MOVE_FOR_ROOM);
	start_with(MOVER_RECOMMEND, MOVER_OFF);
	assert_int_equal(scene.sent_count, 1);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void without_rounds_their_recommendations_are_withdrawn(void **state)
{
	(void)state;
	remember_recommended(MOVE_FOR_CPU);
	start_with(MOVER_OFF, MOVER_RECOMMEND);
	assert_int_equal(scene.sent_count, 1);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void a_new_leader_follows_a_room_move_without_rounds(void **state)
{
	(void)state;
	remember_recommended(MOVE_FOR_ROOM);
	scene.earlier[0].state = MOVE_RUNNING;
	scene.earlier[0].ordered_us = WALL_US;
	fake_kubevirt.vmis[0].node = node_2;
	start_with(MOVER_OFF, MOVER_RECOMMEND);
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
	assert_string_equal(last_sent()->room_for, "vms/urgent");
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(without_rebalancing_no_round_looks_for_moves),
		test(a_move_for_room_is_ordered_and_says_for_whom),
		test(room_is_made_outside_the_windows),
		test(the_flag_of_making_room_decides),
		test(kubevirts_limits_hold_for_room_as_well),
		test(an_order_that_kubevirt_has_not_shown_counts_on_its_nodes),
		test(the_pause_after_failures_holds_for_room_as_well),
		test(a_vm_that_must_stay_is_not_moved_by_an_older_plan),
		test(why_a_round_orders_nothing_leaves_out_kubevirts_reason),
		test(a_vm_that_moved_lately_has_a_cooldown),
		test(a_recommendation_is_recorded_once_and_can_become_an_order),
		test(a_withdrawn_recommendation_gets_a_new_record),
		test(rounds_leave_an_earlier_leaders_room_alone),
		test(recommendations_that_nobody_renews_are_withdrawn),
		test(without_rounds_their_recommendations_are_withdrawn),
		test(a_new_leader_follows_a_room_move_without_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
