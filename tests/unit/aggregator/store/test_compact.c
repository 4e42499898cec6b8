#include "aggregator/store/compact.h"

#include "tests/unit/aggregator/store/count_hours.h"

static void packed_reports_are_identical(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 4001);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM rollup_due"),
		3);
}

static void each_day_is_read_from_its_own_table(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = f->now_ms - 4 * hour_ms;
	uint64_t before_ms = today_ms - 24 * hour_ms;

	fixture_add_range(f, before_ms, 1, 100);
	fixture_add_range(f, today_ms, 200, 250);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, before_ms, 1), 99);
	assert_int_equal(count_hours(f, today_ms, 1), 50);
	assert_int_equal(count_hours(f, before_ms, 25), 149);
}

static void the_newest_stay_rows_and_all_are_read_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms;

	fixture_add_range(f, base_ms, 1, 1800);
	f->now_ms = base_ms + hour_ms / 2;
	fixture_add_range(f, base_ms, 1800, 1900);
	f->now_ms = base_ms + hour_ms / 2 + hour_ms * 3 / 4;
	fixture_pack_all(f);
	assert_in_range(fixture_number(f, "SELECT count(*) FROM tail"), 90,
		110);
	assert_int_equal(count_hours(f, base_ms, 2), 1899);
}

static void packed_reports_are_not_stored_again(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 500);
	fixture_add_range(f, base_ms, 700, 900);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	/* The same reports with another delay, and the missing ones. */
	fixture_add_range(f, base_ms + 3, 1, 900);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM tail"), 200);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM tail"), 0);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(packed_reports_are_identical),
		fixture_test(each_day_is_read_from_its_own_table),
		fixture_test(the_newest_stay_rows_and_all_are_read_in_order),
		fixture_test(packed_reports_are_not_stored_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
