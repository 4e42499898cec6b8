#include "scheduler/make_room/attempt.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <string.h>

static struct attempt attempt;
static struct move_records records;

static int setup(void **state)
{
	(void)state;
	attempt = (struct attempt){ 0 };
	records = (struct move_records){ 0 };
	(void)snprintf(attempt.node, sizeof(attempt.node), "node-1");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	move_records_fini(&records);
	return 0;
}

/* ordered_us 0: a recommendation. */
static struct move_record *add_move(const char *id, enum move_state move_state,
	uint64_t ordered_us)
{
	struct move_record *record =
		&attempt.moves[attempt.move_count++].record;

	*record = (struct move_record){ .state = move_state,
		.revision = 1,
		.ordered_us = ordered_us };
	(void)snprintf(record->id, sizeof(record->id), "%s", id);
	(void)snprintf(record->namespace, sizeof(record->namespace), "vms");
	(void)snprintf(record->vm, sizeof(record->vm), "vm-%s", id);
	(void)snprintf(record->target, sizeof(record->target), "node-2");
	return record;
}

static void put(const struct move_record *record, enum move_state move_state)
{
	struct move_record newer = *record;

	newer.state = move_state;
	newer.revision++;
	(void)move_records_put(&records, &newer);
}

static void moves_become_those_of_the_book(void **state)
{
	struct move_record *ordered = add_move("1", MOVE_ORDERED, 5);
	struct move_record *recommended = add_move("2", MOVE_RECOMMENDED, 0);
	struct move_record *nameless = add_move("", MOVE_RECOMMENDED, 0);

	(void)state;
	put(ordered, MOVE_SUCCEEDED);
	put(recommended, MOVE_RECOMMENDED);
	attempt_sync(&attempt, &records);
	assert_int_equal(ordered->state, MOVE_SUCCEEDED);
	assert_int_equal(ordered->revision, 2);
	assert_string_equal(recommended->id, "2");
	assert_string_equal(nameless->id, "");
}

static void what_the_book_forgot_is_withdrawn_or_loses_its_id(void **state)
{
	struct move_record *ordered = add_move("1", MOVE_ORDERED, 5);
	struct move_record *recommended = add_move("2", MOVE_RECOMMENDED, 0);
	struct move_record *ended = add_move("3", MOVE_FAILED, 5);

	(void)state;
	attempt_sync(&attempt, &records);
	assert_int_equal(ordered->state, MOVE_WITHDRAWN);
	assert_string_equal(ordered->id, "1");
	assert_string_equal(recommended->id, "");
	assert_int_equal(recommended->state, MOVE_RECOMMENDED);
	assert_int_equal(ended->state, MOVE_FAILED);
	assert_string_equal(ended->id, "3");
	/* Moves of an earlier plan may stand behind the last one. */
	(void)add_move("4", MOVE_ORDERED, 5);
	attempt.move_count--;
	attempt_sync(&attempt, &records);
	assert_int_equal(attempt.moves[3].record.state, MOVE_ORDERED);
}

static void an_attempt_is_done_when_all_its_moves_succeeded(void **state)
{
	(void)state;
	assert_false(attempt_is_done(&attempt));
	(void)add_move("1", MOVE_SUCCEEDED, 5);
	assert_true(attempt_is_done(&attempt));
	assert_false(attempt_is_moving(&attempt));
	(void)add_move("2", MOVE_ORDERED, 5);
	assert_false(attempt_is_done(&attempt));
	assert_true(attempt_is_moving(&attempt));
}

static void only_an_ordered_move_can_have_failed(void **state)
{
	struct move_record *failed;

	(void)state;
	(void)add_move("1", MOVE_SUCCEEDED, 5);
	(void)add_move("2", MOVE_WITHDRAWN, 0);
	assert_null(attempt_failed_move(&attempt));
	failed = add_move("3", MOVE_FAILED, 5);
	assert_ptr_equal(attempt_failed_move(&attempt), failed);
	failed->state = MOVE_WITHDRAWN;
	assert_ptr_equal(attempt_failed_move(&attempt), failed);
}

static void a_place_is_held_when_no_open_move_leads_to_its_node(void **state)
{
	struct move_record *move;

	(void)state;
	assert_true(attempt_may_hold(&attempt));
	move = add_move("1", MOVE_ORDERED, 5);
	assert_true(attempt_may_hold(&attempt));
	(void)snprintf(move->target, sizeof(move->target), "node-1");
	assert_false(attempt_may_hold(&attempt));
	move->state = MOVE_SUCCEEDED;
	assert_true(attempt_may_hold(&attempt));
	attempt.node[0] = '\0';
	assert_false(attempt_may_hold(&attempt));
	assert_false(attempt_has_plan(&attempt));
}

static void open_moves_alone_are_kept(void **state)
{
	(void)state;
	(void)add_move("1", MOVE_SUCCEEDED, 5);
	(void)add_move("2", MOVE_ORDERED, 5);
	(void)add_move("3", MOVE_RECOMMENDED, 0);
	(void)add_move("4", MOVE_ORDERED, 5);
	attempt_keep_open(&attempt);
	assert_int_equal(attempt.move_count, 2);
	assert_string_equal(attempt.moves[0].record.id, "2");
	assert_string_equal(attempt.moves[1].record.id, "4");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(moves_become_those_of_the_book),
		test(what_the_book_forgot_is_withdrawn_or_loses_its_id),
		test(an_attempt_is_done_when_all_its_moves_succeeded),
		test(only_an_ordered_move_can_have_failed),
		test(a_place_is_held_when_no_open_move_leads_to_its_node),
		test(open_moves_alone_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
