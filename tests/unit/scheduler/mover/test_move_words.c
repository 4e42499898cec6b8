#include "scheduler/mover/move_words.h"

#include "tests/support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char namespace[] = "shop", vm_name[] = "web", vmi_uid[] = "vmi-1";
static char pod_name[] = "launcher", uid[] = "pod-1";
static char source_name[] = "node-1", target_name[] = "node-2";

static struct pod pod = { .namespace = namespace,
	.name = pod_name,
	.uid = uid,
	.vm_name = vm_name,
	.vmi_uid = vmi_uid };
static struct node source = { .name = source_name },
		   target = { .name = target_name };
static struct fleet_node nodes[2];
static struct fleet_vm vms[1];
static const struct fleet fleet = { .nodes = nodes,
	.node_count = 2,
	.vms = vms,
	.vm_count = 1 };
static const struct fleet_move move = { .vm = 0,
	.target = 1,
	.gain = 3,
	.source_before = 8,
	.source_after = 4,
	.target_before = 0.5,
	.target_after = 2 };

static int setup(void **state)
{
	(void)state;
	nodes[0] =
		(struct fleet_node){ .node = &source, .cores = 16, .mean = 12 };
	nodes[1] =
		(struct fleet_node){ .node = &target, .cores = 8, .mean = 2 };
	vms[0] = (struct fleet_vm){ .pod = &pod,
		.cores = 4,
		.memory_bytes = 5e9 };
	return 0;
}

static void assert_names(const struct move_record *record)
{
	assert_int_equal(record->state, MOVE_RECOMMENDED);
	assert_string_equal(record->namespace, "shop");
	assert_string_equal(record->vm, "web");
	assert_string_equal(record->vmi_uid, "vmi-1");
	assert_string_equal(record->source, "node-1");
	assert_string_equal(record->target, "node-2");
}

static void a_move_for_cpu_says_what_both_nodes_are_short_of(void **state)
{
	struct move_record record;

	(void)state;
	move_words_from(&record, &fleet, &move, 1);
	assert_names(&record);
	assert_int_equal(record.reason, MOVE_FOR_CPU);
	assert_string_equal(record.sentence,
		"within an hour node-1 is short of 40.0 core-minutes, and of "
		"20.0 without the VM; node-2 of 2.5, and of 10.0 with it; the "
		"move saves 15.0 more than its price of 5.0");
	assert_true(record.gain == 3 && record.price == 1);
	assert_true(record.source_load_before == 0.75);
	assert_true(record.source_load_after == 0.5);
	assert_true(record.target_load_before == 0.25);
	assert_true(record.target_load_after == 0.75);
	assert_true(record.source_shortage_before == 8);
	assert_true(record.source_shortage_after == 4);
	assert_true(record.target_shortage_before == 0.5);
	assert_true(record.target_shortage_after == 2);
	assert_true(record.memory_bytes == 5e9);
	assert_true(isnan(record.copy_s));
	nodes[1].cores = 0;
	move_words_from(&record, &fleet, &move, 1);
	assert_true(isnan(record.target_load_after));
}

static void a_move_from_a_node_in_trouble_names_the_trouble(void **state)
{
	static const struct {
		enum move_reason reason;
		const char *relief;
	} cases[] = {
		{ MOVE_FOR_MEMORY, "the VM holds 6.0 GB there" },
		{ MOVE_FOR_IO, "the VM waits in 25 % of the time" },
		{ MOVE_FOR_KVM, "no VM can start there" },
	};
	struct pressure_move pressed = { .move = move,
		.relief = 0.25,
		.copied_bytes = 7e9,
		.needed_bytes = 6e9,
		.text = "why" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct move_record record;
		char sentence[512];

		pressed.reason = cases[i].reason;
		move_words_from_pressure(&record, &fleet, &pressed, 1);
		(void)snprintf(sentence, sizeof(sentence),
			"node-1 is in trouble, why; %s, and the copy transfers "
			"7.0 GB; within an hour node-2 is short of 2.5 "
			"core-minutes, and of 10.0 with the VM",
			cases[i].relief);
		assert_names(&record);
		assert_int_equal(record.reason, cases[i].reason);
		assert_string_equal(record.sentence, sentence);
	}
}

static void a_move_for_room_says_for_whom_and_what_it_costs(void **state)
{
	static char urgent_name[] = "urgent", urgent_uid[] = "pod-2";
	const struct pod urgent = { .namespace = namespace,
		.name = urgent_name,
		.uid = urgent_uid };
	struct move_words_room room = { .vm = &pod,
		.source = "node-1",
		.target = "node-2",
		.room_for = &urgent,
		.node = "node-1",
		.number = 2,
		.count = 3,
		.source_load_before = 0.8,
		.source_load_after = 0.7,
		.target_load_before = 0.4,
		.target_load_after = 0.45,
		.memory_bytes = 5e9 };
	struct move_record record;

	(void)state;
	move_words_for_room(&record, &room);
	assert_names(&record);
	assert_int_equal(record.reason, MOVE_FOR_ROOM);
	assert_string_equal(record.room_for, "shop/urgent");
	assert_string_equal(record.room_for_uid, "pod-2");
	assert_string_equal(record.sentence,
		"makes room for shop/urgent on node-1, move 2 of 3; node-2 is "
		"expected to use 40 % of its cores, and 45 % with the VM");
	assert_true(record.source_load_before == 0.8);
	assert_true(record.source_load_after == 0.7);
	assert_true(record.memory_bytes == 5e9);
	assert_true(isnan(record.gain));
	room.target_load_after = NAN;
	move_words_for_room(&record, &room);
	assert_string_equal(record.sentence,
		"makes room for shop/urgent on node-1, move 2 of 3");
}

static void an_update_keeps_what_names_the_recommendation(void **state)
{
	struct move_record record, newer;

	(void)state;
	move_words_from(&record, &fleet, &move, 1);
	newer = record;
	(void)snprintf(record.id, sizeof(record.id), "mine");
	record.revision = 4;
	record.wall_us = 17;
	record.state = MOVE_ORDERED;
	newer.gain = 9;
	(void)snprintf(newer.sentence, sizeof(newer.sentence), "newer words");
	move_words_update(&record, &newer);
	assert_string_equal(record.id, "mine");
	assert_int_equal(record.revision, 4);
	assert_int_equal(record.wall_us, 17);
	assert_int_equal(record.state, MOVE_ORDERED);
	assert_true(record.gain == 9);
	assert_string_equal(record.sentence, "newer words");
}

#define test(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_move_for_cpu_says_what_both_nodes_are_short_of),
		test(a_move_from_a_node_in_trouble_names_the_trouble),
		test(a_move_for_room_says_for_whom_and_what_it_costs),
		test(an_update_keeps_what_names_the_recommendation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
