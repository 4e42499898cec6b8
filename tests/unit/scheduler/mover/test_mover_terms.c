/* A leader that continues what an earlier one began. */
#include "scheduler/mover/mover.h"

#include "tests/unit/scheduler/mover/mover_steps.h"

static void remember_open(const char *source, const char *target,
	enum move_state state)
{
	struct move_record record = { .id = "open",
		.revision = 2,
		.namespace = "vms",
		.vm = "a",
		.vmi_uid = "vmi-a",
		.state = state,
		.ordered_us = WALL_US };

	(void)snprintf(record.source, sizeof(record.source), "%s", source);
	(void)snprintf(record.target, sizeof(record.target), "%s", target);
	scene.earlier[scene.earlier_count++] = record;
}

static void a_new_leader_ends_the_moves_of_the_last_one(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	remember_open("node-1", "node-2", MOVE_RUNNING);
	fake_kubevirt.vmis[0].node = node_2;
	run(40, 0.5);
	assert_string_equal(last_sent()->id, "open");
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
}

static void a_new_leader_asks_again_for_what_changed_meanwhile(void **state)
{
	const uint64_t began_us = clock_wall_us() + SECOND_US;

	(void)state;
	start(MOVER_AUTOMATIC);
	run(3, 0.5);
	assert_int_equal(scene.asked_us[0], began_us - MOVE_RECORDS_KEPT_US);
	assert_in_range(scene.asked_us[1], began_us - 600 * SECOND_US,
		began_us - 60 * SECOND_US);
}

static void a_new_leader_reserves_for_an_order_without_a_pod(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	(void)fake_migration(namespace, names[0], MIGRATION_PENDING);
	(void)snprintf(fake_kubevirt.move_id, sizeof(fake_kubevirt.move_id),
		"open");
	remember_open("node-1", "node-2", MOVE_ORDERED);
	run(3, 0.5);
	assert_true(is_reserved());
}

static void a_new_leader_reserves_while_the_target_pod_waits(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	(void)fake_migration(namespace, names[0], MIGRATION_SCHEDULING);
	(void)snprintf(fake_kubevirt.move_id, sizeof(fake_kubevirt.move_id),
		"open");
	remember_open("node-1", "node-2", MOVE_ORDERED);
	run(3, 0.5);
	assert_true(is_reserved());
}

static void a_new_leader_lets_a_long_copy_go_on(void **state)
{
	struct migration *migration;

	(void)state;
	start(MOVER_AUTOMATIC);
	migration = fake_migration(namespace, names[0], MIGRATION_RUNNING);
	(void)snprintf(fake_kubevirt.move_id, sizeof(fake_kubevirt.move_id),
		"open");
	remember_open("node-1", "node-2", MOVE_RUNNING);
	scene.earlier[0].memory_bytes = 64.0 * (1 << 30);
	run(9600, 0.5);
	assert_int_equal(fake_kubevirt.cancelled, 0);
	run(700, 0.5);
	assert_true(fake_kubevirt.cancelled > 0);
	migration->phase = MIGRATION_SUCCEEDED;
	tell(migration, NULL);
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
}

static void a_migration_without_a_record_gets_one(void **state)
{
	static char hostname[] = "host-node-2";
	struct migration *migration;

	(void)state;
	start(MOVER_AUTOMATIC);
	migration = fake_migration(namespace, names[0], MIGRATION_PENDING);
	migration->hostname = hostname;
	migration->created_wall_us = (int64_t)WALL_US;
	(void)snprintf(fake_kubevirt.move_id, sizeof(fake_kubevirt.move_id),
		"lost");
	run(3, 0.5);
	assert_string_equal(scene.sent[0].id, "lost");
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	assert_string_equal(last_sent()->vm, "a");
	assert_string_equal(last_sent()->source, "node-1");
	assert_string_equal(last_sent()->target, "node-2");
	assert_int_equal(last_sent()->ordered_us, WALL_US);
	assert_true(is_reserved());
	migration->phase = MIGRATION_SUCCEEDED;
	tell(migration, NULL);
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
}

static void without_history_no_open_move_is_judged(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	remember_open("node-1", "node-2", MOVE_ORDERED);
	scene.has_history = false;
	run(300, 0.5);
	assert_int_equal(scene.sent_count, 0);
	scene.has_history = true;
	run(160, 0.5);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void a_regained_term_forgets_what_it_ordered(void **state)
{
	char id[sizeof(fake_kubevirt.move_id)];
	size_t vm, sent;

	(void)state;
	(void)order_move(&vm);
	(void)snprintf(id, sizeof(id), "%s", fake_kubevirt.move_id);
	scene.leads = false;
	run(2, 6);
	fake_kubevirt.migration_count = 0;
	sent = scene.sent_count;
	answer("timeout");
	/* The next leader knows how it ended, and its records are lost. */
	scene.leads = true;
	run(200, 0.5);
	for (size_t i = sent; i < scene.sent_count; i++) {
		assert_string_not_equal(scene.sent[i].id, id);
	}
}

static void a_round_ends_with_the_lease(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	run(30, 6);
	for (int i = 0; i < 120; i++) {
		fake_clock_move(SECOND_US);
		put_loads(6);
		fire(&scene.timers[1]);
		scene.leads = false;
		fire(&scene.timers[0]);
		scene.leads = true;
	}
	assert_int_equal(scene.sent_count, 0);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_new_leader_ends_the_moves_of_the_last_one),
		test(a_new_leader_asks_again_for_what_changed_meanwhile),
		test(a_new_leader_reserves_for_an_order_without_a_pod),
		test(a_new_leader_reserves_while_the_target_pod_waits),
		test(a_new_leader_lets_a_long_copy_go_on),
		test(a_migration_without_a_record_gets_one),
		test(without_history_no_open_move_is_judged),
		test(a_regained_term_forgets_what_it_ordered),
		test(a_round_ends_with_the_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
