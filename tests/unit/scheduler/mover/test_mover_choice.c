/* Whether and why the mover chooses a move, in a small cluster. */
#include "scheduler/mover/mover.h"

#include "tests/unit/scheduler/mover/mover_bed.h"

static void a_minute_of_work_outside_vms_moves_nothing(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	run(1200, 2);
	assert_int_equal(fake_kubevirt.ordered, 0);
	scene.outside = 9;
	run(60, 2);
	scene.outside = 0;
	run(60, 2);
	assert_int_equal(scene.sent_count, 0);
}

static void lasting_work_outside_vms_moves_a_vm(void **state)
{
	(void)state;
	start(MOVER_AUTOMATIC);
	run(1200, 2);
	scene.outside = 9;
	run(1200, 2);
	assert_true(fake_kubevirt.ordered > 0);
}

static void a_stored_profile_is_not_an_observation(void **state)
{
	const struct usage profile = { .seconds = 28800,
		.mean_cores = 6,
		.square_cores = 36 };

	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		scoped_free char *uid = xasprintf("pod-%s", vm_names[i]);

		(void)cache_remove_pod(&scene.cache, uid);
		put_new_vm(vm_names[i], "node-1", "plimsoll-scheduler",
			now_us());
		cache_update_profile(&scene.cache, uid, &profile);
	}
	start(MOVER_AUTOMATIC);
	run(65, 6);
	assert_int_equal(scene.sent_count, 0);
	run(240, 6);
	assert_true(fake_kubevirt.ordered > 0);
}

static void a_node_that_rejects_vms_takes_none(void **state)
{
	(void)state;
	cache_reject(&scene.cache, "node-2", 1, now_us());
	cache_reject(&scene.cache, "node-2", 2, now_us());
	start(MOVER_AUTOMATIC);
	run(300, 6);
	assert_int_equal(scene.sent_count, 0);
	run(600, 6);
	assert_true(fake_kubevirt.ordered > 0);
}

/* Its target pod has a node, which KubeVirt names only at the handoff. */
static void a_vm_on_its_way_counts_once(void **state)
{
	static char foreign[] = "foreign";
	struct migration *migration;

	(void)state;
	put_node("node-3");
	put_target("a", "node-3");
	migration = fake_migration(namespace, names[0], MIGRATION_SCHEDULING);
	*migration = (struct migration){ .namespace = namespace,
		.name = foreign,
		.uid = foreign,
		.vmi_name = names[0],
		.move_id = fake_nothing,
		.source = fake_nothing,
		.target = fake_nothing,
		.hostname = fake_nothing,
		.phase = MIGRATION_SCHEDULING };
	start(MOVER_RECOMMEND);
	run(180, 4);
	assert_int_equal(scene.sent_count, 0);
	migration->target = node_2;
	migration->phase = MIGRATION_FAILED;
	(void)cache_remove_pod(&scene.cache, "target-a");
	run(180, 4);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
}

static void vms_with_disks_to_copy_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		fake_kubevirt.vmis[i].copies_disks = true;
	}
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
	assert_says("KubeVirt would copy its disks as well");
}

#define NEW_MODEL "cpu-model-migration.node.kubevirt.io/Icelake-Server"

/* Node-2 is asked first. */
static void a_vm_whose_cpu_model_is_elsewhere_is_not_held_back(void **state)
{
	(void)state;
	put_labelled_node("node-3", "'" NEW_MODEL "':'true',");
	fake_demand = NEW_MODEL;
	start(MOVER_RECOMMEND);
	for (int i = 0; i < 24; i++) {
		put_load("node-3", NULL, 0, 0);
		run(5, 6);
	}
	assert_string_equal(last_sent()->target, "node-3");
	assert_says("\"held_back\":[]");
	fake_demand = NULL;
}

static void a_vm_whose_cpu_model_is_nowhere_else_is_held_back(void **state)
{
	(void)state;
	fake_demand = NEW_MODEL;
	start(MOVER_AUTOMATIC);
	run(120, 6);
	assert_int_equal(scene.sent_count, 0);
	assert_says(
		"\"why\":\"its CPU model Icelake-Server is on no other "
		"node with room\"");
	assert_says(
		"no move saves more than its price, and vms/a stays on "
		"node-1: its CPU model");
	fake_demand = NULL;
	run(120, 6);
	assert_true(fake_kubevirt.ordered > 0);
	assert_says("\"held_back\":[]");
}

static void a_copy_is_no_larger_than_the_guest(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		fake_kubevirt.vmis[i].guest_bytes = 1e9;
	}
	start(MOVER_RECOMMEND);
	run(120, 6);
	assert_true(last_sent()->memory_bytes == 1e9);
}

static void the_sentence_names_the_next_choice(void **state)
{
	static const char expected[] =
		"; the next choice, node-3, is short of 0.0, and of ";

	(void)state;
	start(MOVER_RECOMMEND);
	run(120, 6);
	assert_non_null(strstr(last_sent()->sentence,
		"; no other node can take the VM now"));
	assert_null(strstr(last_sent()->sentence, "announces"));
	mover_close(scene.mover);
	scene.timer_count = 0;
	scene.sent_count = 0;
	put_node("node-3");
	start(MOVER_RECOMMEND);
	for (int i = 0; i < 120; i++) {
		put_load("node-3", NULL, 0, 3);
		run(1, 6);
	}
	assert_string_equal(last_sent()->target, "node-2");
	assert_non_null(strstr(last_sent()->sentence, expected));
}

static void the_sentence_names_an_announcement(void **state)
{
	static struct announcement announced;

	(void)state;
	assert_int_equal(announcement_parse(&announced, "8", NULL), 0);
	for (size_t i = 0; i < VMS; i++) {
		struct node *node = scene.cache.cluster.nodes[0];

		assert_string_equal(node->name, "node-1");
		node->vms.list[i].announced = &announced;
	}
	start(MOVER_RECOMMEND);
	run(120, 1);
	given_check(strstr(last_sent()->sentence,
			    "; the VM announces 6.4 cores") != NULL,
		last_sent()->sentence);
}

static bool counts_on(const char *node)
{
	return cache_node(&scene.cache, node)->vms.count > 0;
}

static void somebody_elses_order_of_a_host_counts_there(void **state)
{
	static char foreign[] = "foreign", host[] = "host-node-2";
	struct migration *migration;

	(void)state;
	migration = fake_migration(namespace, names[0], MIGRATION_PENDING);
	migration->is_ours = false;
	migration->move_id = fake_nothing;
	migration->uid = foreign;
	migration->hostname = fake_nothing;
	start(MOVER_AUTOMATIC);
	run(5, 0.5);
	tell(migration, &fake_kubevirt.vmis[0]);
	assert_false(counts_on("node-2"));
	migration->hostname = host;
	migration->target = node_2;
	tell(migration, &fake_kubevirt.vmis[0]);
	assert_true(is_reserved());
	assert_true(counts_on("node-2"));
}

static void room_of_a_nominated_pod_is_not_for_moves(void **state)
{
	(void)state;
	cache_put_nominated(&scene.cache,
		given_pod(scene.cache.interner,
			"{'metadata':{'name':'n','namespace':'n','uid':'n'},"
			"'spec':{'priority':1,'containers':[{'resources':{"
			"'requests':{'cpu':'16'}}}]},'status':{"
			"'nominatedNodeName':'node-2'}}"));
	start(MOVER_AUTOMATIC);
	run(300, 6);
	assert_int_equal(scene.sent_count, 0);
	(void)cache_remove_nominated(&scene.cache, "n");
	run(120, 6);
	assert_true(fake_kubevirt.ordered > 0);
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_minute_of_work_outside_vms_moves_nothing),
		test(lasting_work_outside_vms_moves_a_vm),
		test(a_stored_profile_is_not_an_observation),
		test(a_node_that_rejects_vms_takes_none),
		test(a_vm_on_its_way_counts_once),
		test(vms_with_disks_to_copy_stay),
		test(a_vm_whose_cpu_model_is_nowhere_else_is_held_back),
		test(a_vm_whose_cpu_model_is_elsewhere_is_not_held_back),
		test(a_copy_is_no_larger_than_the_guest),
		test(the_sentence_names_the_next_choice),
		test(the_sentence_names_an_announcement),
		test(somebody_elses_order_of_a_host_counts_there),
		test(room_of_a_nominated_pod_is_not_for_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
