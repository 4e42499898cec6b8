/* The second reason of a move, in the mover. */
#include "scheduler/mover/mover.h"

#include "tests/unit/scheduler/mover/mover_bed.h"

static void a_node_short_of_memory_gives_the_largest_vm(void **state)
{
	(void)state;
	scene.trouble = MOVE_FOR_MEMORY;
	start(MOVER_AUTOMATIC);
	run(60, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 0);
	run(60, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(last_sent()->reason, MOVE_FOR_MEMORY);
	assert_string_equal(last_sent()->vm, "a");
	assert_string_equal(last_sent()->target, "node-2");
	assert_non_null(strstr(last_sent()->sentence,
		"node-1 is in trouble, memory: 477 MiB are available"));
}

static void after_an_order_the_minute_of_a_trouble_starts_anew(void **state)
{
	struct migration *migration;

	(void)state;
	scene.trouble = MOVE_FOR_MEMORY;
	start(MOVER_AUTOMATIC);
	for (int i = 0; i < 120 && fake_kubevirt.ordered == 0; i++) {
		run(1, 0.5);
	}
	assert_int_equal(fake_kubevirt.ordered, 1);
	migration = fake_migration(namespace, names[0], MIGRATION_SUCCEEDED);
	fake_kubevirt.vmis[0].node = node_2;
	tell(migration, &fake_kubevirt.vmis[0]);
	assert_int_equal(last_sent()->state, MOVE_SUCCEEDED);
	run(60, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 1);
	run(60, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 2);
}

static void a_node_short_of_io_gives_the_vm_that_waits_most(void **state)
{
	(void)state;
	scene.trouble = MOVE_FOR_IO;
	start(MOVER_RECOMMEND);
	run(120, 0.5);
	assert_int_equal(scene.sent_count, 1);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_int_equal(last_sent()->reason, MOVE_FOR_IO);
	assert_string_equal(last_sent()->vm, "a");
	assert_non_null(strstr(scene.note, "waited for I/O"));
	scene.trouble = MOVE_FOR_CPU;
	run(90, 0.5);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void a_node_without_kvm_is_only_recommended_to_be_left(void **state)
{
	(void)state;
	scene.trouble = MOVE_FOR_KVM;
	start(MOVER_AUTOMATIC);
	run(180, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	assert_int_equal(last_sent()->reason, MOVE_FOR_KVM);
	assert_says("KVM is broken on node-1");
}

static void many_vms_of_another_scheduler_do_not_keep_ours(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMS; i++) {
		put_vm(vm_names[i], "node-1", "default-scheduler");
	}
	add_vm("default-scheduler");
	add_vm("default-scheduler");
	add_vm("plimsoll-scheduler");
	/* Until the VMs are known to be idle, their CPU use is a reason. */
	scene.leads = false;
	start(MOVER_AUTOMATIC);
	run(900, 0.05);
	scene.leads = true;
	scene.trouble = MOVE_FOR_IO;
	run(120, 0.05);
	assert_int_equal(fake_kubevirt.ordered, 1);
	for (size_t i = 0; i < scene.sent_count; i++) {
		if (scene.sent[i].state == MOVE_ORDERED) {
			assert_int_equal(scene.sent[i].reason, MOVE_FOR_IO);
			assert_string_equal(scene.sent[i].vm, "f");
		}
	}
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_node_short_of_memory_gives_the_largest_vm),
		test(after_an_order_the_minute_of_a_trouble_starts_anew),
		test(a_node_short_of_io_gives_the_vm_that_waits_most),
		test(many_vms_of_another_scheduler_do_not_keep_ours),
		test(a_node_without_kvm_is_only_recommended_to_be_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
