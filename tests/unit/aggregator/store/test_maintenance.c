#include "aggregator/store/maintenance.h"

#include "lib/clock.h"
#include "tests/unit/aggregator/store/count_hours.h"

static void deletes_the_oldest_day_above_the_size_limit(void **state)
{
	struct fixture *f = *state;
	uint64_t now_ms = clock_wall_us() / 1000;
	/* Midnight: each range stays within its day at any hour. */
	uint64_t today_ms = now_ms / (24 * hour_ms) * (24 * hour_ms);
	struct store_options options = { .compact_us = 1000 * hour_ms,
		.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
		.max_bytes = 1 };
	struct maintenance *maintenance;
	char sql[160];

	f->now_ms = now_ms - 2 * hour_ms;
	for (uint64_t day = 3; day > 0; day--) {
		fixture_add_range(f, today_ms - day * 24 * hour_ms, 1000 * day,
			1000 * day + 100);
	}
	f->now_ms = now_ms;
	fixture_pack_all(f);
	assert_int_equal(maintenance_new(&maintenance, f->db, &options, NULL),
		0);
	(void)snprintf(sql, sizeof(sql),
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
		"name GLOB 'raw_*'");
	assert_int_equal(fixture_number(f, sql), 3);
	for (int i = 0; i < 100 && fixture_number(f, sql) > 1; i++) {
		while (clock_monotonic_us() < maintenance_due_us(maintenance)) {
		}
		assert_int_equal(maintenance_step(maintenance, NULL), 0);
	}
	assert_int_equal(fixture_number(f, sql), 1);
	assert_int_equal(count_hours(f, today_ms - 24 * hour_ms, 24), 100);
	maintenance_free(maintenance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(deletes_the_oldest_day_above_the_size_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
