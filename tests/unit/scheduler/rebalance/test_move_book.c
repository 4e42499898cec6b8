#include "scheduler/rebalance/move_book.h"

#include "lib/memory.h"
#include "scheduler/cluster/vm_failures.h"
#include "tests/support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MINUTE_US UINT64_C(60000000)
#define HOUR_US (60 * MINUTE_US)
#define NOW_US UINT64_C(1800000000000000)

struct given {
	const char *id, *vm, *target;
	enum move_state state;
	uint64_t at_us; /* ordered; it ended a minute later */
};

static struct move_record record_of(struct given given)
{
	struct move_record record = {
		.revision = 1,
		.namespace = "prod",
		.source = "node-1",
		.state = given.state,
		.wall_us = given.at_us,
		.ordered_us = given.at_us,
		.copy_s = NAN,
		.memory_bytes = 4e9,
	};

	(void)snprintf(record.id, sizeof(record.id), "%s", given.id);
	(void)snprintf(record.vm, sizeof(record.vm), "%s", given.vm);
	(void)snprintf(record.target, sizeof(record.target), "%s",
		given.target);
	if (given.state == MOVE_SUCCEEDED || given.state == MOVE_FAILED) {
		record.ended_us = given.at_us + MINUTE_US;
	}
	return record;
}

static void put(struct move_book *book, struct given given)
{
	struct move_record record = record_of(given);

	(void)move_book_put(book, &record);
}

/* A later round may bring the records of another aggregator. */
static void the_newest_move_counts_in_whatever_order_they_come(void **state)
{
	static const char *const orders[] = { "123", "132", "213", "231", "312",
		"321" };

	(void)state;
	for (size_t i = 0; i < count_of(orders); i++) {
		struct move_book book = { 0 };

		for (const char *at = orders[i]; *at != '\0'; at++) {
			char id[] = { *at, '\0' };
			char target[] = { 'n', *at, '\0' };
			uint64_t hours = (uint64_t)(*at - '0');

			put(&book,
				(struct given){ id, "web", target,
					*at == '3' ? MOVE_FAILED
						   : MOVE_SUCCEEDED,
					NOW_US + hours * HOUR_US });
		}
		assert_string_equal(
			move_book_last_move(&book, "prod", "web")->id, "2");
		move_book_find(&book, "2")->state = MOVE_FAILED;
		assert_string_equal(
			move_book_last_move(&book, "prod", "web")->id, "1");
		move_book_fini(&book);
	}
}

static void the_highest_revision_counts(void **state)
{
	struct move_book book = { 0 };
	struct move_record record = record_of(
		(struct given){ "a", "web", "node-2", MOVE_RUNNING, NOW_US });

	(void)state;
	record.revision = 3;
	assert_int_equal(move_book_put(&book, &record)->revision, 3);
	record.revision = 2;
	record.state = MOVE_ORDERED;
	assert_int_equal(move_book_put(&book, &record)->state, MOVE_RUNNING);
	record.revision = 4;
	record.state = MOVE_SUCCEEDED;
	assert_int_equal(move_book_put(&book, &record)->state, MOVE_SUCCEEDED);
	assert_int_equal(book.by_id.count, 1);
	assert_ptr_equal(move_book_find(&book, "a"),
		move_book_last_move(&book, "prod", "web"));
	assert_null(move_book_last_move(&book, "prod", "db"));
	move_book_fini(&book);
}

static void a_vm_cools_twice_as_long_for_each_earlier_move(void **state)
{
	static const unsigned hours[] = { 1, 2, 4, 6, 6 };
	struct move_book book = { 0 };

	(void)state;
	assert_int_equal(move_book_cooling_until(&book, "prod", "web"), 0);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t at = NOW_US + i * HOUR_US;
		char id[8];

		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&book,
			(struct given){ id, "web", "node-2", MOVE_SUCCEEDED,
				at });
		assert_int_equal(move_book_cooling_until(&book, "prod", "web"),
			at + MINUTE_US + hours[i] * HOUR_US);
	}
	assert_int_equal(move_book_cooling_until(&book, "prod", "db"), 0);
	/* Two days later, the earlier moves no longer count. */
	put(&book,
		(struct given){ "late", "web", "node-2", MOVE_ORDERED,
			NOW_US + 48 * HOUR_US });
	assert_int_equal(move_book_cooling_until(&book, "prod", "web"),
		NOW_US + 49 * HOUR_US);
	move_book_fini(&book);
}

static void failures_and_recommendations_cool_nothing(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put(&book, (struct given){ "a", "web", "n2", MOVE_FAILED, NOW_US });
	put(&book,
		(struct given){ "b", "web", "n2", MOVE_RECOMMENDED, NOW_US });
	assert_int_equal(move_book_cooling_until(&book, "prod", "web"), 0);
	move_book_fini(&book);
}

static void three_failures_in_a_row_pause_for_half_an_hour(void **state)
{
	struct move_book book = { 0 };
	unsigned failures;

	(void)state;
	put(&book, (struct given){ "a", "v1", "n2", MOVE_FAILED, NOW_US });
	put(&book,
		(struct given){ "b", "v2", "n3", MOVE_FAILED,
			NOW_US + HOUR_US });
	assert_int_equal(move_book_paused_until(&book, &failures), 0);
	assert_int_equal(failures, 2);
	put(&book,
		(struct given){ "c", "v3", "n4", MOVE_FAILED,
			NOW_US + 2 * HOUR_US });
	assert_int_equal(move_book_paused_until(&book, &failures),
		NOW_US + 2 * HOUR_US + MINUTE_US + MOVE_BOOK_PAUSE_US);
	assert_int_equal(failures, 3);
	put(&book,
		(struct given){ "d", "v4", "n4", MOVE_SUCCEEDED,
			NOW_US + 3 * HOUR_US });
	assert_int_equal(move_book_paused_until(&book, &failures), 0);
	assert_int_equal(failures, 0);
	move_book_fini(&book);
}

/* Puts an ended record of the VM "web". */
static void put_ended(struct move_book *book, const char *id,
	enum move_state state, uint64_t at_us, double copy_s,
	const char *migration)
{
	struct move_record record =
		record_of((struct given){ id, "web", "node-2", state, at_us });

	record.ended_us = at_us;
	record.copy_s = copy_s;
	(void)snprintf(record.migration, sizeof(record.migration), "%s",
		migration);
	(void)move_book_put(book, &record);
}

static uint64_t cools_for(const struct move_book *book)
{
	uint64_t until_us = move_book_cooling_until(book, "prod", "web");

	return until_us == 0 ? 0 : until_us - NOW_US;
}

static void a_vm_rests_twice_as_long_for_each_failed_copy(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put_ended(&book, "a", MOVE_FAILED, NOW_US - 3, NAN, "plimsoll-a");
	assert_int_equal(cools_for(&book), 0);
	put_ended(&book, "b", MOVE_FAILED, NOW_US - 2, 9, "plimsoll-b");
	put_ended(&book, "c", MOVE_FAILED, NOW_US, 9, "plimsoll-c");
	assert_int_equal(cools_for(&book), 2 * VM_FAILURES_WAIT_US);
	move_book_fini(&book);
}

static void a_refused_order_lets_the_vm_rest_and_pauses_nothing(void **state)
{
	static const char *const ids[] = { "a", "b", "c" };
	struct move_book book = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		put_ended(&book, ids[i], MOVE_WITHDRAWN, NOW_US, NAN, "");
	}
	assert_int_equal(cools_for(&book), 4 * VM_FAILURES_WAIT_US);
	assert_int_equal(move_book_paused_until(&book, NULL), 0);
	move_book_fini(&book);
}

static void a_vm_whose_migration_somebody_ended_rests_longest(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put_ended(&book, "a", MOVE_WITHDRAWN, NOW_US, NAN, "plimsoll-a");
	assert_int_equal(cools_for(&book), MOVE_BOOK_COOL_MAX_US);
	move_book_fini(&book);
}

static void recommendations_are_kept_until_they_are_withdrawn(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put(&book, (struct given){ "a", "v", "n2", MOVE_RECOMMENDED, NOW_US });
	move_book_expire(&book, NOW_US + 3 * MOVE_BOOK_KEPT_US);
	assert_non_null(move_book_find(&book, "a"));
	move_book_fini(&book);
}

static void withdrawn_recommendations_make_room_before_moves(void **state)
{
	struct move_book book = { 0 };
	char id[16];

	(void)state;
	put(&book, (struct given){ "moved", "v", "n2", MOVE_SUCCEEDED, 1 });
	for (unsigned i = 0; i < MOVE_BOOK_MAX; i++) {
		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&book,
			(struct given){ id, "v", "n2", MOVE_WITHDRAWN,
				NOW_US + i });
		move_book_find(&book, id)->ordered_us = 0;
	}
	assert_non_null(move_book_find(&book, "moved"));
	assert_null(move_book_find(&book, "m0"));
	move_book_fini(&book);
}

static void open_records_are_forgotten_before_a_new_term(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put(&book, (struct given){ "a", "v", "n2", MOVE_RUNNING, NOW_US });
	put(&book, (struct given){ "b", "v", "n2", MOVE_FAILED, NOW_US });
	move_book_forget_open(&book);
	assert_null(move_book_find(&book, "a"));
	assert_non_null(move_book_find(&book, "b"));
	move_book_fini(&book);
}

static void the_median_of_copies_counts_from_five_on(void **state)
{
	static const double seconds[] = { 4, 400, 8, 12, 6 };
	struct move_book book = { 0 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		char id[8];
		struct move_record record;

		assert_true(isnan(move_book_copy_pace(&book)));
		(void)snprintf(id, sizeof(id), "m%u", i);
		record = record_of((
			struct given){ id, "v", "n2", MOVE_SUCCEEDED, NOW_US });
		record.copy_s = seconds[i];
		(void)move_book_put(&book, &record);
	}
	assert_true(fabs(move_book_copy_pace(&book) - 8 / 4e9) < 1e-15);
	move_book_fini(&book);
}

static void orders_of_the_last_hour_are_counted(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put(&book, (struct given){ "a", "v1", "n2", MOVE_FAILED, NOW_US });
	put(&book,
		(struct given){ "b", "v2", "n3", MOVE_ORDERED,
			NOW_US + HOUR_US });
	assert_int_equal(move_book_ordered(&book, NOW_US), 1);
	assert_int_equal(move_book_ordered(&book, NOW_US - 1), 2);
	move_book_fini(&book);
}

static void a_day_later_closed_records_are_forgotten(void **state)
{
	struct move_book book = { 0 };

	(void)state;
	put(&book, (struct given){ "a", "v1", "n2", MOVE_FAILED, NOW_US });
	put(&book, (struct given){ "b", "v1", "n3", MOVE_SUCCEEDED, NOW_US });
	put(&book, (struct given){ "c", "v1", "n3", MOVE_RUNNING, NOW_US });
	move_book_expire(&book, NOW_US + MOVE_BOOK_KEPT_US);
	assert_int_equal(book.by_id.count, 3);
	move_book_expire(&book, NOW_US + MOVE_BOOK_KEPT_US + HOUR_US);
	assert_int_equal(book.by_id.count, 1);
	assert_non_null(move_book_find(&book, "c"));
	move_book_fini(&book);
}

static void the_oldest_closed_record_makes_room(void **state)
{
	struct move_book book = { 0 };
	char id[16];

	(void)state;
	put(&book, (struct given){ "open", "v", "n2", MOVE_RUNNING, 1 });
	for (unsigned i = 0; i < MOVE_BOOK_MAX; i++) {
		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&book,
			(struct given){ id, "v", "n2", MOVE_WITHDRAWN,
				NOW_US + i });
	}
	assert_int_equal(book.by_id.count, MOVE_BOOK_MAX);
	assert_null(move_book_find(&book, "m0"));
	assert_non_null(move_book_find(&book, "m1"));
	assert_non_null(move_book_find(&book, "open"));
	move_book_fini(&book);
}

static void the_waits_of_failed_targets_come_back(void **state)
{
	struct move_book book = { 0 };
	struct vm_failures failures = { 0 };
	const int64_t monotonic_us = INT64_C(77000000000);
	int64_t ended;

	(void)state;
	put(&book, (struct given){ "a", "web", "n2", MOVE_FAILED, NOW_US });
	put(&book,
		(struct given){ "b", "web", "n2", MOVE_FAILED,
			NOW_US + HOUR_US });
	put(&book, (struct given){ "c", "web", "n3", MOVE_FAILED, NOW_US });
	put(&book,
		(struct given){ "d", "web", "n3", MOVE_SUCCEEDED,
			NOW_US + HOUR_US });
	move_book_restore_failures(&book, &failures, NOW_US + HOUR_US,
		monotonic_us);
	ended = monotonic_us + (int64_t)MINUTE_US;
	assert_int_equal(vm_failures_until(&failures, "prod", "web", "n2"),
		ended + 2 * VM_FAILURES_WAIT_US);
	assert_int_equal(vm_failures_until(&failures, "prod", "web", "n3"), 0);
	vm_failures_fini(&failures);
	move_book_fini(&book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_newest_move_counts_in_whatever_order_they_come),
		cmocka_unit_test(the_highest_revision_counts),
		cmocka_unit_test(
			a_vm_cools_twice_as_long_for_each_earlier_move),
		cmocka_unit_test(failures_and_recommendations_cool_nothing),
		cmocka_unit_test(
			three_failures_in_a_row_pause_for_half_an_hour),
		cmocka_unit_test(a_vm_rests_twice_as_long_for_each_failed_copy),
		cmocka_unit_test(
			a_refused_order_lets_the_vm_rest_and_pauses_nothing),
		cmocka_unit_test(
			a_vm_whose_migration_somebody_ended_rests_longest),
		cmocka_unit_test(
			recommendations_are_kept_until_they_are_withdrawn),
		cmocka_unit_test(
			withdrawn_recommendations_make_room_before_moves),
		cmocka_unit_test(open_records_are_forgotten_before_a_new_term),
		cmocka_unit_test(the_median_of_copies_counts_from_five_on),
		cmocka_unit_test(orders_of_the_last_hour_are_counted),
		cmocka_unit_test(a_day_later_closed_records_are_forgotten),
		cmocka_unit_test(the_oldest_closed_record_makes_room),
		cmocka_unit_test(the_waits_of_failed_targets_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
