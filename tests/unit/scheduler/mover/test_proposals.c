#include "scheduler/mover/proposals.h"

#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

static void find_move(struct proposals *proposals, const char *vm,
	const char *target, double gain)
{
	struct move_record record = { .namespace = "prod",
		.source = "node-1",
		.gain = gain };

	(void)snprintf(record.vm, sizeof(record.vm), "%s", vm);
	(void)snprintf(record.target, sizeof(record.target), "%s", target);
	proposals_found(proposals, &record, "pod-1");
}

static void run_round(struct proposals *proposals, const char *vm,
	const char *target, double gain)
{
	proposals_begin(proposals);
	if (vm != NULL) {
		find_move(proposals, vm, target, gain);
	}
	proposals_end(proposals);
}

static void a_move_holds_after_two_rounds_in_a_row(void **state)
{
	struct proposals proposals = { 0 };

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	assert_false(proposal_holds(&proposals.list[0]));
	run_round(&proposals, "web", "node-2", 2);
	assert_true(proposal_holds(&proposals.list[0]));
	assert_int_equal(proposals.count, 1);
	assert_true(proposals.list[0].record.gain == 2);
}

static void a_round_without_the_move_starts_over(void **state)
{
	struct proposals proposals = { 0 };

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	run_round(&proposals, NULL, NULL, 0);
	run_round(&proposals, "web", "node-2", 1);
	assert_int_equal(proposals.count, 1);
	assert_false(proposal_holds(&proposals.list[0]));
}

static void a_move_is_over_after_two_rounds_without_it(void **state)
{
	struct proposals proposals = { 0 };
	struct move_record over;

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	run_round(&proposals, NULL, NULL, 0);
	assert_false(proposals_remove_over(&proposals, &over));
	run_round(&proposals, NULL, NULL, 0);
	assert_true(proposals_remove_over(&proposals, &over));
	assert_string_equal(over.vm, "web");
	assert_int_equal(proposals.count, 0);
}

static void another_target_ends_the_first_and_keeps_its_rounds(void **state)
{
	struct proposals proposals = { 0 };
	struct move_record over;

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	(void)snprintf(proposals.list[0].record.id,
		sizeof(proposals.list[0].record.id), "old");
	run_round(&proposals, "web", "node-3", 2);
	assert_true(proposals_remove_over(&proposals, &over));
	assert_string_equal(over.id, "old");
	assert_int_equal(proposals.count, 1);
	assert_true(proposal_holds(&proposals.list[0]));
	assert_string_equal(proposals.list[0].record.target, "node-3");
	assert_string_equal(proposals.list[0].record.id, "");
	assert_ptr_equal(proposals_of(&proposals, "prod", "web"),
		&proposals.list[0]);
}

static void a_record_keeps_its_identity(void **state)
{
	struct proposals proposals = { 0 };

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	(void)snprintf(proposals.list[0].record.id,
		sizeof(proposals.list[0].record.id), "abc");
	proposals.list[0].record.wall_us = 5;
	proposals.list[0].record.revision = 1;
	run_round(&proposals, "web", "node-2", 3);
	assert_string_equal(proposals.list[0].record.id, "abc");
	assert_int_equal(proposals.list[0].record.wall_us, 5);
	assert_int_equal(proposals.list[0].record.revision, 1);
	assert_true(proposals.list[0].record.gain == 3);
}

static void a_restored_record_is_over_unless_it_is_found(void **state)
{
	struct proposals proposals = { 0 };
	struct move_record record = { .id = "abc",
		.namespace = "prod",
		.vm = "web",
		.source = "node-1",
		.target = "node-2" };
	struct move_record over;

	(void)state;
	assert_true(proposals_restore(&proposals, &record));
	assert_true(proposals_restore(&proposals, &record));
	assert_int_equal(proposals.count, 1);
	run_round(&proposals, "web", "node-2", 1);
	run_round(&proposals, "web", "node-2", 1);
	assert_true(proposal_holds(&proposals.list[0]));
	assert_string_equal(proposals.list[0].record.id, "abc");
	run_round(&proposals, NULL, NULL, 0);
	run_round(&proposals, NULL, NULL, 0);
	assert_true(proposals_remove_over(&proposals, &over));
	assert_string_equal(over.id, "abc");
}

static void a_record_of_a_move_that_was_found_anew_is_not_restored(void **state)
{
	struct proposals proposals = { 0 };
	struct move_record record = { .id = "abc",
		.namespace = "prod",
		.vm = "web",
		.source = "node-1",
		.target = "node-2" };

	(void)state;
	run_round(&proposals, "web", "node-2", 1);
	assert_false(proposals_restore(&proposals, &record));
	assert_int_equal(proposals.count, 1);
}

static void a_full_list_ignores_more(void **state)
{
	struct proposals proposals = { 0 };
	char vm[16];

	(void)state;
	proposals_begin(&proposals);
	for (int i = 0; i < PROPOSALS_MAX + 3; i++) {
		(void)snprintf(vm, sizeof(vm), "vm-%d", i);
		find_move(&proposals, vm, "node-2", 1);
	}
	proposals_end(&proposals);
	assert_int_equal(proposals.count, PROPOSALS_MAX);
	proposals_remove(&proposals, "prod", "vm-0");
	assert_int_equal(proposals.count, PROPOSALS_MAX - 1);
	assert_null(proposals_of(&proposals, "prod", "vm-0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_move_holds_after_two_rounds_in_a_row),
		cmocka_unit_test(a_round_without_the_move_starts_over),
		cmocka_unit_test(a_move_is_over_after_two_rounds_without_it),
		cmocka_unit_test(
			another_target_ends_the_first_and_keeps_its_rounds),
		cmocka_unit_test(a_record_keeps_its_identity),
		cmocka_unit_test(a_restored_record_is_over_unless_it_is_found),
		cmocka_unit_test(
			a_record_of_a_move_that_was_found_anew_is_not_restored),
		cmocka_unit_test(a_full_list_ignores_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
