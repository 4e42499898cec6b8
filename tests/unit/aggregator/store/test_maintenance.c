#include "aggregator/store/maintenance.h"

#include "lib/log.h"
#include "tests/unit/aggregator/store/maintained.h"

/* How often the log said that the time catches up. */
static size_t pauses;

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	(void)level;
	(void)file;
	(void)line;
	if (strstr(message, "no reports were stored for a while") != NULL) {
		pauses++;
		assert_string_equal(fields[0].key, "now");
		assert_string_not_equal(fields[0].text, fields[1].text);
	}
}

/* Three days of a hundred reports each, packed. */
static uint64_t add_days(struct fixture *f)
{
	uint64_t today_ms = f->now_ms / day_ms * day_ms;
	uint64_t now_ms = f->now_ms;

	f->now_ms = now_ms - 2 * hour_ms;
	for (uint64_t day = 3; day > 0; day--) {
		fixture_add_range(f, today_ms - day * day_ms, 1000 * day,
			1000 * day + 100);
	}
	f->now_ms = now_ms;
	fixture_pack_all(f);
	return today_ms;
}

static size_t count_days(struct fixture *f, uint64_t today_ms)
{
	return count_hours(f, today_ms - 3 * day_ms, 72);
}

static struct store_options keeps(uint64_t ms)
{
	return (struct store_options){ .compact_us = hour_ms * 1000,
		.retention_us = { ms * 1000, ms * 1000, ms * 1000 },
		.decisions_kept_us = ms * 1000 };
}

static void deletes_what_is_too_old_once_the_clock_is_steady(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = add_days(f);
	struct store_options options = keeps(36 * hour_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_run(&m, 9);
	assert_int_equal(count_days(f, today_ms), 300);
	maintained_run(&m, 10);
	assert_in_range(count_days(f, today_ms), 100, 200);
	maintained_fini(&m);
}

static void a_postponed_step_leaves_the_thread_its_sleep(void **state)
{
	struct fixture *f = *state;
	struct store_options options = keeps(hour_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	m.now.monotonic_us = maintenance_due_us(m.maintenance) + 5;
	maintenance_postpone(m.maintenance, m.now.monotonic_us);
	assert_true(maintenance_due_us(m.maintenance) >
		m.now.monotonic_us + 100000);
	maintained_fini(&m);
}

static void deletes_old_rows_of_the_head(void **state)
{
	struct fixture *f = *state;
	struct store_options options = keeps(hour_ms);
	struct maintained m;

	options.compact_us = 1000 * hour_ms;
	fixture_add_range(f, f->now_ms - 3 * hour_ms, 1, 700);
	fixture_add_at(f, 700, f->now_ms);
	maintained_init(&m, f, &options);
	maintained_run(&m, 20);
	assert_in_range(fixture_number(f, "SELECT count(*) FROM head"), 20, 25);
	maintained_fini(&m);
}

static void deletes_old_decisions(void **state)
{
	static const char count[] = "SELECT count(*) FROM decision";
	struct fixture *f = *state;
	struct store_options options = keeps(day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_add_decisions(&m, 500, m.now.wall_ms - 2 * day_ms);
	maintained_add_decisions(&m, 10, m.now.wall_ms);
	maintained_run(&m, 9);
	assert_int_equal(fixture_number(f, count), 510);
	maintained_run(&m, 5);
	assert_int_equal(fixture_number(f, count), 10);
	maintained_fini(&m);
}

static void deletes_old_moves(void **state)
{
	static const char count[] = "SELECT count(*) FROM move";
	struct fixture *f = *state;
	struct store_options options = keeps(day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_add_moves(&m, 500, m.now.wall_ms - 2 * day_ms);
	maintained_add_moves(&m, 10, m.now.wall_ms);
	maintained_run(&m, 14);
	assert_int_equal(fixture_number(f, count), 10);
	maintained_fini(&m);
}

static void a_clock_that_is_ahead_for_seconds_deletes_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = add_days(f);
	struct store_options options = keeps(30 * day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_run(&m, 20);
	m.now.wall_ms += 800 * day_ms;
	maintained_run(&m, 1);
	m.now.wall_ms -= 800 * day_ms;
	maintained_run(&m, 20);
	assert_int_equal(count_days(f, today_ms), 300);
	maintained_fini(&m);
}

static void a_clock_that_stays_ahead_deletes_no_day(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = add_days(f);
	struct store_options options = keeps(30 * day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	maintained_run(&m, 20);
	m.now.wall_ms += 800 * day_ms;
	maintained_run(&m, 120);
	assert_int_equal(count_days(f, today_ms), 300);
	/* The same after a restart. */
	maintenance_free(m.maintenance);
	maintained_open(&m);
	maintained_run(&m, 60);
	assert_int_equal(count_days(f, today_ms), 300);
	maintained_fini(&m);
}

static void the_first_start_with_a_clock_ahead_deletes_no_day(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = add_days(f);
	struct store_options options = keeps(30 * day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	m.now.wall_ms += 800 * day_ms;
	maintained_run(&m, 60);
	assert_int_equal(count_days(f, today_ms), 300);
	maintained_fini(&m);
}

/* A report that an agent dates back has the time that the agent states. */
static void reports_dated_back_do_not_move_the_time(void **state)
{
	struct fixture *f = *state;
	uint64_t today_ms = add_days(f);
	struct store_options options = keeps(30 * day_ms);
	struct maintained m;

	maintained_init(&m, f, &options);
	m.now.wall_ms += 800 * day_ms;
	for (uint64_t i = 0; i < 200; i++) {
		fixture_add_at(f, 2000000 + i, today_ms - i * hour_ms / 10);
		maintained_step(&m);
	}
	assert_true(count_days(f, today_ms) >= 300);
	maintained_fini(&m);
}

static void runs_without_reports_are_deleted(void **state)
{
	static const char count[] = "SELECT count(*) FROM run";
	struct fixture *f = *state;
	struct store_options options = keeps(day_ms);
	struct maintained m;

	add_days(f);
	assert_int_equal(db_exec(f->db,
				 "INSERT INTO run VALUES (9, 9, 'r', 1000);"
				 "INSERT INTO seqs VALUES (9, 1, 7)",
				 NULL),
		0);
	maintained_init(&m, f, &options);
	maintained_run(&m, 300);
	assert_int_equal(fixture_number(f, count), 2);
	maintained_run(&m, 100);
	assert_int_equal(fixture_number(f, count), 1);
	maintained_fini(&m);
}

static void a_pause_of_days_is_logged_once(void **state)
{
	struct fixture *f = *state;
	struct store_options options = keeps(1000 * hour_ms);
	struct maintained m;

	pauses = 0;
	fixture_add_at(f, 1, f->now_ms - 3 * day_ms);
	maintained_init(&m, f, &options);
	maintained_run(&m, 30);
	assert_int_equal(pauses, 1);
	maintained_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(deletes_what_is_too_old_once_the_clock_is_steady),
		fixture_test(a_postponed_step_leaves_the_thread_its_sleep),
		fixture_test(deletes_old_rows_of_the_head),
		fixture_test(deletes_old_decisions),
		fixture_test(deletes_old_moves),
		fixture_test(a_clock_that_is_ahead_for_seconds_deletes_nothing),
		fixture_test(a_clock_that_stays_ahead_deletes_no_day),
		fixture_test(the_first_start_with_a_clock_ahead_deletes_no_day),
		fixture_test(runs_without_reports_are_deleted),
		fixture_test(reports_dated_back_do_not_move_the_time),
		fixture_test(a_pause_of_days_is_logged_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
