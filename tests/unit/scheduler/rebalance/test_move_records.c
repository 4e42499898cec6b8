#include "scheduler/rebalance/move_records.h"

#include "lib/memory.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/rebalance/move_pauses.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/vm_waits.h"

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

static void put(struct move_records *records, struct given given)
{
	struct move_record record = record_of(given);

	(void)move_records_put(records, &record);
}

/* A later round may bring the records of another aggregator. */
static void the_newest_move_counts_in_whatever_order_they_come(void **state)
{
	static const char *const orders[] = { "123", "132", "213", "231", "312",
		"321" };

	(void)state;
	for (size_t i = 0; i < count_of(orders); i++) {
		struct move_records records = { 0 };

		for (const char *at = orders[i]; *at != '\0'; at++) {
			char id[] = { *at, '\0' };
			char target[] = { 'n', *at, '\0' };
			uint64_t hours = (uint64_t)(*at - '0');

			put(&records,
				(struct given){ id, "web", target,
					*at == '3' ? MOVE_FAILED
						   : MOVE_SUCCEEDED,
					NOW_US + hours * HOUR_US });
		}
		assert_string_equal(
			move_records_last_move(&records, "prod", "web")->id,
			"2");
		move_records_find(&records, "2")->state = MOVE_FAILED;
		assert_string_equal(
			move_records_last_move(&records, "prod", "web")->id,
			"1");
		move_records_fini(&records);
	}
}

static void the_highest_revision_counts(void **state)
{
	struct move_records records = { 0 };
	struct move_record record = record_of(
		(struct given){ "a", "web", "node-2", MOVE_RUNNING, NOW_US });

	(void)state;
	record.revision = 3;
	assert_int_equal(move_records_put(&records, &record)->revision, 3);
	record.revision = 2;
	record.state = MOVE_ORDERED;
	assert_int_equal(move_records_put(&records, &record)->state,
		MOVE_RUNNING);
	record.revision = 4;
	record.state = MOVE_SUCCEEDED;
	assert_int_equal(move_records_put(&records, &record)->state,
		MOVE_SUCCEEDED);
	assert_int_equal(records.by_id.count, 1);
	assert_ptr_equal(move_records_find(&records, "a"),
		move_records_last_move(&records, "prod", "web"));
	assert_null(move_records_last_move(&records, "prod", "db"));
	move_records_fini(&records);
}

static void a_vm_cools_twice_as_long_for_each_earlier_move(void **state)
{
	static const unsigned hours[] = { 1, 2, 4, 6, 6 };
	struct move_records records = { 0 };

	(void)state;
	assert_int_equal(move_records_cooling_until(&records, "prod", "web"),
		0);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t at = NOW_US + i * HOUR_US;
		char id[8];

		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&records,
			(struct given){ id, "web", "node-2", MOVE_SUCCEEDED,
				at });
		assert_int_equal(
			move_records_cooling_until(&records, "prod", "web"),
			at + MINUTE_US + hours[i] * HOUR_US);
	}
	assert_int_equal(move_records_cooling_until(&records, "prod", "db"), 0);
	/* Two days later, the earlier moves no longer count. */
	put(&records,
		(struct given){ "late", "web", "node-2", MOVE_ORDERED,
			NOW_US + 48 * HOUR_US });
	assert_int_equal(move_records_cooling_until(&records, "prod", "web"),
		NOW_US + 49 * HOUR_US);
	move_records_fini(&records);
}

static void failures_and_recommendations_cool_nothing(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put(&records, (struct given){ "a", "web", "n2", MOVE_FAILED, NOW_US });
	put(&records,
		(struct given){ "b", "web", "n2", MOVE_RECOMMENDED, NOW_US });
	assert_int_equal(move_records_cooling_until(&records, "prod", "web"),
		0);
	move_records_fini(&records);
}

/* Puts an ended record of the VM "web". */
static void put_ended(struct move_records *records, const char *id,
	enum move_state state, uint64_t at_us, double copy_s,
	const char *migration)
{
	struct move_record record =
		record_of((struct given){ id, "web", "node-2", state, at_us });

	record.ended_us = at_us;
	record.copy_s = copy_s;
	(void)snprintf(record.migration, sizeof(record.migration), "%s",
		migration);
	(void)move_records_put(records, &record);
}

static uint64_t cools_for(const struct move_records *records)
{
	uint64_t until_us = move_records_cooling_until(records, "prod", "web");

	return until_us == 0 ? 0 : until_us - NOW_US;
}

static void a_vm_rests_twice_as_long_for_each_failed_copy(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put_ended(&records, "a", MOVE_FAILED, NOW_US - 3, NAN, "plimsoll-a");
	assert_int_equal(cools_for(&records), 0);
	put_ended(&records, "b", MOVE_FAILED, NOW_US - 2, 9, "plimsoll-b");
	put_ended(&records, "c", MOVE_FAILED, NOW_US, 9, "plimsoll-c");
	assert_int_equal(cools_for(&records), 2 * VM_FAILURES_WAIT_US);
	move_records_fini(&records);
}

static void a_refused_order_lets_the_vm_rest_and_pauses_nothing(void **state)
{
	static const char *const ids[] = { "a", "b", "c" };
	struct move_records records = { 0 };
	struct move_pauses pauses;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		put_ended(&records, ids[i], MOVE_WITHDRAWN, NOW_US, NAN, "");
	}
	assert_int_equal(cools_for(&records), 4 * VM_FAILURES_WAIT_US);
	move_pauses_init(&pauses, &records);
	assert_int_equal(move_pauses_of(&pauses, "prod").until_us, 0);
	move_pauses_fini(&pauses);
	move_records_fini(&records);
}

static void a_vm_whose_migration_somebody_ended_rests_longest(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put_ended(&records, "a", MOVE_WITHDRAWN, NOW_US, NAN, "plimsoll-a");
	assert_int_equal(cools_for(&records), MOVE_RECORDS_COOL_MAX_US);
	move_records_fini(&records);
}

static void recommendations_are_kept_until_they_are_withdrawn(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put(&records,
		(struct given){ "a", "v", "n2", MOVE_RECOMMENDED, NOW_US });
	move_records_expire(&records, NOW_US + 3 * MOVE_RECORDS_KEPT_US);
	assert_non_null(move_records_find(&records, "a"));
	move_records_fini(&records);
}

static void withdrawn_recommendations_make_room_before_moves(void **state)
{
	struct move_records records = { 0 };
	char id[16];

	(void)state;
	put(&records, (struct given){ "moved", "v", "n2", MOVE_SUCCEEDED, 1 });
	for (unsigned i = 0; i < MOVE_RECORDS_MAX; i++) {
		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&records,
			(struct given){ id, "v", "n2", MOVE_WITHDRAWN,
				NOW_US + i });
		move_records_find(&records, id)->ordered_us = 0;
	}
	assert_non_null(move_records_find(&records, "moved"));
	assert_null(move_records_find(&records, "m0"));
	move_records_fini(&records);
}

static void open_records_are_forgotten_before_a_new_term(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put(&records, (struct given){ "a", "v", "n2", MOVE_RUNNING, NOW_US });
	put(&records, (struct given){ "b", "v", "n2", MOVE_FAILED, NOW_US });
	move_records_forget_open(&records);
	assert_null(move_records_find(&records, "a"));
	assert_non_null(move_records_find(&records, "b"));
	move_records_fini(&records);
}

static void the_median_of_copies_counts_from_five_on(void **state)
{
	static const double seconds[] = { 4, 400, 8, 12, 6 };
	struct move_records records = { 0 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		char id[8];
		struct move_record record;

		assert_true(isnan(move_records_copy_pace(&records)));
		(void)snprintf(id, sizeof(id), "m%u", i);
		record = record_of((
			struct given){ id, "v", "n2", MOVE_SUCCEEDED, NOW_US });
		record.copy_s = seconds[i];
		(void)move_records_put(&records, &record);
	}
	assert_true(fabs(move_records_copy_pace(&records) - 8 / 4e9) < 1e-15);
	move_records_fini(&records);
}

static void orders_of_the_last_hour_are_counted(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put(&records, (struct given){ "a", "v1", "n2", MOVE_FAILED, NOW_US });
	put(&records,
		(struct given){ "b", "v2", "n3", MOVE_ORDERED,
			NOW_US + HOUR_US });
	assert_int_equal(move_records_ordered(&records, NOW_US), 1);
	assert_int_equal(move_records_ordered(&records, NOW_US - 1), 2);
	move_records_fini(&records);
}

static void a_day_later_closed_records_are_forgotten(void **state)
{
	struct move_records records = { 0 };

	(void)state;
	put(&records, (struct given){ "a", "v1", "n2", MOVE_FAILED, NOW_US });
	put(&records,
		(struct given){ "b", "v1", "n3", MOVE_SUCCEEDED, NOW_US });
	put(&records, (struct given){ "c", "v1", "n3", MOVE_RUNNING, NOW_US });
	move_records_expire(&records, NOW_US + MOVE_RECORDS_KEPT_US);
	assert_int_equal(records.by_id.count, 3);
	move_records_expire(&records, NOW_US + MOVE_RECORDS_KEPT_US + HOUR_US);
	assert_int_equal(records.by_id.count, 1);
	assert_non_null(move_records_find(&records, "c"));
	move_records_fini(&records);
}

static void the_oldest_closed_record_makes_room(void **state)
{
	struct move_records records = { 0 };
	char id[16];

	(void)state;
	put(&records, (struct given){ "open", "v", "n2", MOVE_RUNNING, 1 });
	for (unsigned i = 0; i < MOVE_RECORDS_MAX; i++) {
		(void)snprintf(id, sizeof(id), "m%u", i);
		put(&records,
			(struct given){ id, "v", "n2", MOVE_WITHDRAWN,
				NOW_US + i });
	}
	assert_int_equal(records.by_id.count, MOVE_RECORDS_MAX);
	assert_null(move_records_find(&records, "m0"));
	assert_non_null(move_records_find(&records, "m1"));
	assert_non_null(move_records_find(&records, "open"));
	move_records_fini(&records);
}

static void the_waits_of_failed_targets_come_back(void **state)
{
	struct move_records records = { 0 };
	struct vm_failures failures = { 0 };
	const int64_t monotonic_us = INT64_C(77000000000);
	int64_t ended;

	(void)state;
	put(&records, (struct given){ "a", "web", "n2", MOVE_FAILED, NOW_US });
	put(&records,
		(struct given){ "b", "web", "n2", MOVE_FAILED,
			NOW_US + HOUR_US });
	put(&records, (struct given){ "c", "web", "n3", MOVE_FAILED, NOW_US });
	put(&records,
		(struct given){ "d", "web", "n3", MOVE_SUCCEEDED,
			NOW_US + HOUR_US });
	move_records_restore_failures(&records, &failures, NOW_US + HOUR_US,
		monotonic_us);
	ended = monotonic_us + (int64_t)MINUTE_US;
	assert_int_equal(vm_wait_until(&failures, "prod", "web", "n2"),
		ended + 2 * VM_FAILURES_WAIT_US);
	assert_int_equal(vm_wait_until(&failures, "prod", "web", "n3"), 0);
	vm_failures_fini(&failures);
	move_records_fini(&records);
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
