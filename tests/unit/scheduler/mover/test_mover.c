#include "scheduler/mover/mover.h"

#include "tests/unit/scheduler/mover/mover_steps.h"

static void assert_explained(const char *sentence)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	buffer_text(&why, "");
	mover_explain(scene.mover, &why);
	assert_string_equal(why.data, sentence);
}

static void a_hot_node_is_named_within_two_minutes(void **state)
{
	const struct move_record *record;

	(void)state;
	start(MOVER_RECOMMEND);
	run(120, 6);
	record = last_sent();
	assert_int_equal(record->state, MOVE_RECOMMENDED);
	assert_string_equal(record->source, "node-1");
	assert_string_equal(record->target, "node-2");
	assert_string_equal(record->namespace, "vms");
	assert_true(record->gain > 0);
	assert_true(
		record->source_shortage_after < record->source_shortage_before);
	assert_false(record->is_automatic);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_string_equal(scene.event, "MoveRecommended");
	assert_says("\"why\":\"--rebalance is recommend\"");
	assert_says("\"reason\":\"cpu\"");
	assert_says("\"untried_save_at_most\":0");
}

static void a_recommendation_that_no_longer_holds_is_withdrawn(void **state)
{
	(void)state;
	start(MOVER_RECOMMEND);
	run(120, 6);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	run(3 * 3600, 0.1);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
	assert_string_equal(last_sent()->id, scene.sent[0].id);
	assert_true(last_sent()->revision > scene.sent[0].revision);
}

static void a_cool_cluster_is_left_alone(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	run(300, 0.5);
	assert_int_equal(scene.sent_count, 0);
	assert_says("no move saves more than its price");
}

static void without_the_records_of_earlier_moves_nothing_is_ordered(
	void **state)
{
	(void)state;
	scene.has_history = false;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_says("no connected aggregator");
	assert_says("\"effective_mode\":\"recommend\"");
	/* Once they are there, the same record is ordered. */
	scene.has_history = true;
	run(60, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_string_equal(last_sent()->id, scene.sent[0].id);
}

static void without_the_right_to_order_it_recommends_and_says_so(void **state)
{
	(void)state;
	fake_kubevirt.not_ordering = "KubeVirt v1.5.0 is older than 1.6";
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_says("KubeVirt v1.5.0 is older than 1.6");
}

static void vms_of_another_scheduler_are_recommended_and_marked(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		put_vm(vm_names[i], "node-1", "default-scheduler");
	}
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_true(last_sent()->is_other_scheduler);
}

static void a_vm_that_a_migration_placed_may_move_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		put_migrated(vm_names[i], "node-1");
	}
	start(MOVER_AUTOMATIC);
	run(90, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_string_equal(fake_kubevirt.hostname, "host-node-2");
}

static void a_vm_that_says_never_stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		fake_kubevirt.vmis[i].consent = CONSENT_NEVER;
	}
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
}

static void somebody_elses_migration_on_a_node_keeps_moves_away(void **state)
{
	static char foreign[] = "foreign", gone[] = "x";
	struct migration *migration;

	(void)state;
	migration = fake_migration(namespace, gone, MIGRATION_RUNNING);
	migration->is_ours = false;
	migration->move_id = fake_nothing;
	migration->uid = foreign;
	migration->name = foreign;
	migration->source = node_1;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
	assert_says(
		"has a migration that somebody else ordered: the migration "
		"vms/foreign of the VM x");
	assert_explained(
		"node-1 is short of CPU time, but it has a migration "
		"that somebody else ordered");
	migration->phase = MIGRATION_SUCCEEDED;
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

/* Five of one tenant, whose ResourceQuota admits no second launcher. */
static void migrations_that_never_start_stop_nobody_else(void **state)
{
	static char jobs[5][8] = { "m0", "m1", "m2", "m3", "m4" };
	static char tenant[] = "tenant", vm[] = "x";

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct migration *migration =
			fake_migration(tenant, vm, MIGRATION_PENDING);

		migration->is_ours = false;
		migration->move_id = fake_nothing;
		migration->uid = jobs[i];
		migration->source = node_1;
		migration->is_over_quota = true;
	}
	start(MOVER_AUTOMATIC);
	assert_says(
		"\"ignored_because\":\"a ResourceQuota of its namespace "
		"admits no second launcher pod\"");
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void standing_aside_has_an_end(void **state)
{
	static char foreign[] = "foreign", vm[] = "x";
	struct migration *migration;

	(void)state;
	migration = fake_migration(namespace, vm, MIGRATION_PENDING);
	migration->is_ours = false;
	migration->move_id = fake_nothing;
	migration->uid = foreign;
	migration->source = node_1;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	fake_kubevirt.others_are_late = true;
	assert_says("it is older than --other-migrations-timeout");
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void the_only_slot_of_a_node_is_left_to_a_drain_that_waits(void **state)
{
	(void)state;
	fake_kubevirt.limits.out_of_node = 1;
	fake_kubevirt.drains = 1;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	fake_kubevirt.drains = 0;
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

/* A move of a VM of the namespace failed just now. */
static void remember_failure(const char *namespace_name, unsigned number)
{
	struct move_record record = { .revision = 4,
		.vm = "x",
		.source = "node-1",
		.target = "node-9",
		.state = MOVE_FAILED,
		.ended_us = clock_wall_us() };

	(void)snprintf(record.id, sizeof(record.id), "id-%u", number);
	(void)snprintf(record.namespace, sizeof(record.namespace), "%s",
		namespace_name);
	record.ordered_us = record.ended_us - 60000000;
	record.wall_us = record.ordered_us;
	mover_remember(scene.mover, &record);
}

static void three_failures_in_a_row_pause_a_namespace(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	for (unsigned i = 0; i < 3; i++) {
		remember_failure("vms", i);
	}
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_says(
		"3 moves in a row failed in the VM's namespace, and its "
		"moves are paused until");
	assert_says(
		"\"paused_namespaces\":[{\"namespace\":\"vms\","
		"\"failures_in_a_row\":3,");
	assert_says("\"paused_until\":null");
	assert_string_equal(scene.event, "MoveRecommended");
	run(1800, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void failures_of_one_namespace_pause_no_other(void **state)
{
	struct mover_stats stats;

	(void)state;
	start(MOVER_AUTOMATIC);
	for (unsigned i = 0; i < 3; i++) {
		remember_failure("tenant", i);
	}
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	mover_stats(scene.mover, &stats);
	assert_explained(
		"moves of VMs of 1 namespaces are paused after "
		"failures in a row");
	assert_false(stats.is_paused);
	assert_int_equal(stats.paused_namespaces, 1);
}

static void failures_in_three_namespaces_pause_all(void **state)
{
	struct mover_stats stats;

	(void)state;
	start(MOVER_AUTOMATIC);
	remember_failure("a", 0);
	remember_failure("b", 1);
	remember_failure("c", 2);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_says("3 moves in a row failed, and moves are paused until");
	mover_stats(scene.mover, &stats);
	assert_true(stats.is_paused);
	assert_int_equal(stats.paused_namespaces, 0);
	run(1800, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

/* The VMs "a" and "b" are of the namespace "tenant". */
static void put_tenant(void)
{
	static char tenant[] = "tenant";

	for (size_t i = 0; i < 2; i++) {
		scoped_free char *json = xasprintf(
			"{'metadata':{'name':'launcher-%s','namespace':"
			"'tenant','uid':'pod-%s','labels':{'kubevirt.io':"
			"'virt-launcher','kubevirt.io/created-by':'vmi-%s'},"
			"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{"
			"'nodeName':'node-1','schedulerName':"
			"'plimsoll-scheduler','containers':[{'name':'compute',"
			"'resources':{'requests':{'cpu':'800m','memory':'4Gi',"
			"'devices.kubevirt.io/kvm':'1'}}}]},"
			"'status':{'phase':'Running'}}",
			names[i], names[i], names[i], names[i]);

		cache_put_pod(&scene.cache,
			given_pod(scene.cache.interner, json),
			-3600 * SECOND_US);
		fake_kubevirt.vmis[i].namespace = tenant;
	}
}

static void a_paused_namespace_does_not_keep_others_on_a_hot_node(void **state)
{
	(void)state;
	put_tenant();
	start(MOVER_AUTOMATIC);
	for (unsigned i = 0; i < 3; i++) {
		remember_failure("tenant", i);
	}
	run(180, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	for (size_t i = 0; i < scene.sent_count; i++) {
		if (scene.sent[i].state == MOVE_ORDERED) {
			assert_string_equal(scene.sent[i].vm, "c");
		}
	}
}

static void records_from_the_future_do_not_pause(void **state)
{
	struct move_record record = { .revision = 2,
		.namespace = "vms",
		.vm = "a",
		.state = MOVE_FAILED,
		.ended_us = UINT64_MAX };

	(void)state;
	start(MOVER_AUTOMATIC);
	for (record.id[0] = '1'; record.id[0] <= '3'; record.id[0]++) {
		mover_remember(scene.mover, &record);
	}
	run(5, 0.5);
	assert_says("\"failures_in_a_row\":0");
}

static void a_vm_that_others_move_back_is_left_alone(void **state)
{
	static char foreign[] = "foreign";
	struct migration *migration;
	struct vmi *vmi;
	size_t vm;

	(void)state;
	migration = order_move(&vm);
	vmi = &fake_kubevirt.vmis[vm];
	vmi->node = node_2;
	migration->phase = MIGRATION_SUCCEEDED;
	tell(migration, vmi);
	migration->move_id = fake_nothing;
	migration->uid = foreign;
	migration->is_ours = false;
	migration->phase = MIGRATION_PENDING;
	tell(migration, vmi);
	assert_string_equal(scene.event, "MoveSucceeded");
	migration->created_wall_us = (int64_t)clock_wall_us();
	tell(migration, vmi);
	assert_string_equal(scene.event, "MoveStandsAside");
	assert_says("\"vms_left_to_others\":1");
}

static void a_vm_of_another_scheduler_does_not_keep_ours_on_a_hot_node(
	void **state)
{
	(void)state;
	put_vm("a", "node-1", "default-scheduler");
	put_vm("b", "node-1", "default-scheduler");
	start(MOVER_AUTOMATIC);
	run(180, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
	for (size_t i = 0; i < scene.sent_count; i++) {
		assert_true((scene.sent[i].vm[0] != 'c') ==
			scene.sent[i].is_other_scheduler);
	}
}

static void a_follower_does_nothing(void **state)
{
	(void)state;
	scene.leads = false;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
	assert_says("another replica is leader");
}

static void after_the_pause_one_move_at_a_time_is_tried(void **state)
{
	struct move_record record = { .revision = 4,
		.namespace = "vms",
		.vm = "x",
		.source = "node-8",
		.target = "node-9",
		.state = MOVE_FAILED,
		.ordered_us = WALL_US,
		.wall_us = WALL_US,
		.ended_us = WALL_US };

	(void)state;
	fake_clock_move(2000 * SECOND_US);
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(record.id, sizeof(record.id), "id-%u", i);
		record.state = i < 3 ? MOVE_FAILED : MOVE_ORDERED;
		scene.earlier[scene.earlier_count++] = record;
	}
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_says(
		"3 moves in a row failed in the VM's namespace, and "
		"another one is being tried");
	run(120, 6);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

static void an_order_has_the_figures_of_its_own_round(void **state)
{
	double recommended;

	(void)state;
	scene.has_history = false;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	recommended = scene.sent[0].gain;
	run(300, 7);
	scene.has_history = true;
	run(60, 7);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_string_equal(last_sent()->id, scene.sent[0].id);
	assert_true(last_sent()->gain > recommended);
}

static void after_an_order_there_is_no_why(void **state)
{
	size_t vm;

	(void)state;
	(void)order_move(&vm);
	assert_says("\"why\":\"\"");
	assert_explained("");
}

static void the_reason_alone_is_that_of_the_whole_answer(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	run(120, 0.1);
	assert_says("\"why\":\"no move saves more than its price\"");
	assert_explained("no move saves more than its price");
	scene.leads = false;
	assert_explained("another replica is leader");
}

static void a_pod_that_names_another_vm_moves_nothing(void **state)
{
	static char other[] = "other";

	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		fake_kubevirt.vmis[i].name = other;
	}
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_hot_node_is_named_within_two_minutes),
		test(a_recommendation_that_no_longer_holds_is_withdrawn),
		test(a_cool_cluster_is_left_alone),
		test(without_the_records_of_earlier_moves_nothing_is_ordered),
		test(without_the_right_to_order_it_recommends_and_says_so),
		test(vms_of_another_scheduler_are_recommended_and_marked),
		test(a_vm_that_a_migration_placed_may_move_again),
		test(a_vm_that_says_never_stays),
		test(somebody_elses_migration_on_a_node_keeps_moves_away),
		test(migrations_that_never_start_stop_nobody_else),
		test(standing_aside_has_an_end),
		test(the_only_slot_of_a_node_is_left_to_a_drain_that_waits),
		test(three_failures_in_a_row_pause_a_namespace),
		test(failures_of_one_namespace_pause_no_other),
		test(failures_in_three_namespaces_pause_all),
		test(a_paused_namespace_does_not_keep_others_on_a_hot_node),
		test(records_from_the_future_do_not_pause),
		test(a_vm_that_others_move_back_is_left_alone),
		test(a_vm_of_another_scheduler_does_not_keep_ours_on_a_hot_node),
		test(a_follower_does_nothing),
		test(after_the_pause_one_move_at_a_time_is_tried),
		test(an_order_has_the_figures_of_its_own_round),
		test(after_an_order_there_is_no_why),
		test(the_reason_alone_is_that_of_the_whole_answer),
		test(a_pod_that_names_another_vm_moves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
