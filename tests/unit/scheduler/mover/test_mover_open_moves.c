/* Moves from the order to their end. */
#include "scheduler/mover/mover.h"

#include "tests/unit/scheduler/mover/mover_steps.h"
#include "tests/unit/scheduler/vm_waits.h"

STEADY("moves under way are counted");

static void a_move_is_ordered_and_followed_to_its_end(void **state)
{
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	tell(migration, vmi);
	migration->phase = MIGRATION_RUNNING;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_RUNNING);
	migration->phase = MIGRATION_SUCCEEDED;
	vmi->node = node_2;
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->started_wall_us = (int64_t)WALL_US;
	fake_state(vmi)->ended_wall_us = (int64_t)WALL_US + 4 * SECOND_US;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
	assert_true(last_sent()->copy_s == 4);
	assert_true(last_sent()->ended_us > 0);
	assert_true(last_sent()->measured_source_before > 0.5);
	assert_false(is_reserved());
	run(185, 0.5);
	assert_true(last_sent()->measured_source_3m < 0.2);
	assert_true(isnan(last_sent()->measured_source_60m));
	run(3600, 0.5);
	assert_true(last_sent()->measured_source_60m < 0.2);
}

static char vms[] = "vms";

static void a_failure_says_why_in_the_schedulers_words(void **state)
{
	struct migration *migration;
	struct pod pod = { .namespace = vms, .is_target = true };
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	pod.vmi_uid = uids[vm];
	mover_unschedulable(scene.mover, &pod, "0/2 nodes are available");
	migration->phase = MIGRATION_FAILED;
	tell(migration, &fake_kubevirt.vmis[vm]);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_string_equal(last_sent()->failure, "0/2 nodes are available");
	assert_string_equal(scene.event, "MoveFailed");
	assert_false(is_reserved());
	assert_true(vm_wait_until(&scene.cache.cluster.failures, "vms",
			    names[vm], "node-2") > now_us());
}

static void a_pod_of_another_namespace_explains_no_failure(void **state)
{
	static char others[] = "others";
	struct pod pod = { .namespace = others, .is_target = true };
	static char reason[] = "the disk is full";
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	pod.vmi_uid = uids[vm];
	mover_unschedulable(scene.mover, &pod, "I made this up");
	migration->phase = MIGRATION_FAILED;
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->failure_reason = reason;
	tell(migration, vmi);
	assert_string_equal(last_sent()->failure, reason);
}

static void kubevirts_reason_may_come_later_than_the_phase(void **state)
{
	static char reason[] = "the disk is full";
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	migration->phase = MIGRATION_FAILED;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->failure_reason = reason;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_string_equal(last_sent()->failure, reason);
}

static void a_failure_without_a_reason_ends_after_two_seconds(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	migration->phase = MIGRATION_FAILED;
	tell(migration, &fake_kubevirt.vmis[vm]);
	run(3, 6);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_string_equal(last_sent()->failure, "KubeVirt gives no reason");
}

static void a_refused_order_leaves_no_reservation(void **state)
{
	size_t vm;

	(void)state;
	(void)order_move(&vm);
	fake_kubevirt.migration_count = 0;
	fake_kubevirt.options.on_ordered(fake_kubevirt.options.owner,
		fake_kubevirt.move_id, "", "admission webhook denied it");
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
	assert_string_equal(last_sent()->failure,
		"admission webhook denied it");
	assert_string_equal(scene.event, "MoveWithdrawn");
	assert_int_equal(vm_wait_until(&scene.cache.cluster.failures, "vms",
				 names[vm], "node-2"),
		0);
	assert_false(is_reserved());
}

static void a_move_that_a_quota_refuses_ends_at_once(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	answer("");
	migration->is_over_quota = true;
	run(2, 6);
	assert_int_equal(fake_kubevirt.cancelled, 1);
	migration->phase = MIGRATION_FAILED;
	tell(migration, &fake_kubevirt.vmis[vm]);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_string_equal(last_sent()->failure,
		"a ResourceQuota of the namespace admits no second launcher "
		"pod");
	assert_false(is_reserved());
}

static void a_move_that_hangs_is_cancelled_until_it_is_gone(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	answer("");
	run(605, 6);
	assert_int_equal(fake_kubevirt.cancelled, 1);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	/* The record stays open, and the cancellation is repeated. */
	answer("forbidden");
	run(31, 6);
	assert_int_equal(fake_kubevirt.cancelled, 2);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	lose(migration);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_string_equal(last_sent()->failure,
		"nothing happened for 10 minutes");
	assert_false(is_reserved());
}

static void an_order_without_an_answer_is_waited_for(void **state)
{
	size_t vm;

	(void)state;
	(void)order_move(&vm);
	fake_kubevirt.migration_count = 0;
	run(200, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	assert_true(is_reserved());
	answer("the migration was not created: timeout");
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void an_order_that_goes_through_late_is_cancelled(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	fake_kubevirt.migration_count = 0;
	answer("the migration was not created: timeout");
	fake_kubevirt.migration_count = 1;
	run(3, 6);
	assert_int_equal(fake_kubevirt.cancelled, 1);
	run(30, 6);
	assert_int_equal(fake_kubevirt.cancelled, 2);
	migration->is_deleting = true;
	run(60, 6);
	assert_int_equal(fake_kubevirt.cancelled, 2);
}

static void a_migration_that_somebody_deletes_blames_nobody(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	answer("");
	lose(migration);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
	assert_string_equal(last_sent()->failure,
		"the migration object was deleted");
	assert_string_equal(scene.event, "MoveWithdrawn");
	assert_int_equal(vm_wait_until(&scene.cache.cluster.failures, "vms",
				 names[vm], "node-2"),
		0);
}

static void an_aborted_copy_blames_nobody(void **state)
{
	static char reason[] = "live migration has been aborted";
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	migration->phase = MIGRATION_RUNNING;
	migration->is_deleting = true;
	tell(migration, vmi);
	migration->phase = MIGRATION_FAILED;
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->failure_reason = reason;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
	assert_string_equal(last_sent()->failure, reason);
}

static void a_failed_copy_has_its_duration(void **state)
{
	static char reason[] = "the copy broke off";
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	migration->phase = MIGRATION_RUNNING;
	tell(migration, vmi);
	run(4, 6);
	migration->phase = MIGRATION_FAILED;
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->failure_reason = reason;
	tell(migration, vmi);
	assert_int_equal(last_sent()->state, MOVE_FAILED);
	assert_true(last_sent()->copy_s == 4);
}

static void what_the_scheduler_said_before_the_copy_explains_no_failure(
	void **state)
{
	static char reason[] = "the copy broke off";
	struct pod pod = { .namespace = vms, .is_target = true };
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	pod.vmi_uid = uids[vm];
	mover_unschedulable(scene.mover, &pod, "0/2 nodes are available");
	migration->phase = MIGRATION_RUNNING;
	tell(migration, vmi);
	migration->phase = MIGRATION_FAILED;
	fake_state(vmi)->uid = migration->uid;
	fake_state(vmi)->failure_reason = reason;
	tell(migration, vmi);
	assert_string_equal(last_sent()->failure, reason);
}

static void a_migration_of_another_vm_does_not_end_a_move(void **state)
{
	struct migration *migration;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	migration->vmi_name = names[(vm + 1) % VMS];
	migration->phase = MIGRATION_SUCCEEDED;
	tell(migration, &fake_kubevirt.vmis[(vm + 1) % VMS]);
	run(3, 6);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
}

static void an_order_that_kubevirt_queues_keeps_its_room(void **state)
{
	size_t vm;

	(void)state;
	(void)order_move(&vm);
	answer("");
	for (int i = 0; i < 500; i++) {
		run(1, 6);
		(void)reservations_expire(&scene.reservations, now_us());
		assert_true(is_reserved());
	}
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_move_is_ordered_and_followed_to_its_end),
		test(a_failure_says_why_in_the_schedulers_words),
		test(a_pod_of_another_namespace_explains_no_failure),
		test(kubevirts_reason_may_come_later_than_the_phase),
		test(a_failure_without_a_reason_ends_after_two_seconds),
		test(a_refused_order_leaves_no_reservation),
		test(a_move_that_a_quota_refuses_ends_at_once),
		test(a_move_that_hangs_is_cancelled_until_it_is_gone),
		test(an_order_without_an_answer_is_waited_for),
		test(an_order_that_goes_through_late_is_cancelled),
		test(a_migration_that_somebody_deletes_blames_nobody),
		test(an_aborted_copy_blames_nobody),
		test(a_failed_copy_has_its_duration),
		test(what_the_scheduler_said_before_the_copy_explains_no_failure),
		test(a_migration_of_another_vm_does_not_end_a_move),
		test(an_order_that_kubevirt_queues_keeps_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
