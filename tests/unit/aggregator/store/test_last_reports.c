#include "aggregator/store/last_reports.h"

#include "tests/unit/aggregator/store/fixture.h"

static struct last_reports read_all(struct fixture *f)
{
	struct last_reports reports = { 0 };

	assert_int_equal(last_reports_read(&reports, f->db, f->now_ms, NULL),
		0);
	return reports;
}

static void assert_last(struct fixture *f, uint64_t seq, uint64_t sample_ms)
{
	struct last_reports reports = read_all(f);

	assert_int_equal(reports.count, 1);
	assert_string_equal(reports.list[0].node, "n1");
	assert_int_equal(reports.list[0].number, f->node);
	assert_int_equal(reports.list[0].sample_ms, sample_ms);
	assert_int_equal(reports.list[0].report.seq, seq);
	assert_memory_equal(reports.list[0].run_id, run_a, REPORT_RUN_ID_BYTES);
	last_reports_fini(&reports);
}

static void the_newest_row_of_a_node_is_its_last_report(void **state)
{
	struct fixture *f = *state;

	fixture_add_at(f, 1, f->now_ms - 2 * hour_ms);
	fixture_add_at(f, 3, f->now_ms);
	fixture_add_at(f, 2, f->now_ms - 2000);
	assert_last(f, 3, f->now_ms);
}

static void a_node_without_rows_has_the_last_report_of_its_chunks(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms;

	fixture_add_at(f, 1, base_ms);
	fixture_add_at(f, 2, base_ms + 2000);
	f->now_ms += 3 * hour_ms;
	fixture_pack_all(f);
	assert_last(f, 2, base_ms + 2000);
}

/* The clock was ahead when they were stored. */
static void a_report_from_the_future_is_not_the_last_one(void **state)
{
	struct fixture *f = *state;
	struct last_reports reports;

	fixture_add_at(f, 1, f->now_ms + 1);
	fixture_add_at(f, 2, f->now_ms + 2 * hour_ms);
	reports = read_all(f);
	assert_int_equal(reports.count, 1);
	assert_true(reports.list[0].sample_ms == UINT64_MAX);
	last_reports_fini(&reports);
	fixture_add_at(f, 3, f->now_ms - 2 * hour_ms);
	assert_last(f, 3, f->now_ms - 2 * hour_ms);
}

static void a_chunk_from_the_future_has_no_last_report(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms;

	fixture_add_at(f, 1, base_ms);
	fixture_add_at(f, 2, base_ms + 2000);
	fixture_add_at(f, 3, base_ms + 48 * hour_ms);
	f->now_ms += 50 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_last(f, 3, base_ms + 48 * hour_ms);
	f->now_ms = base_ms + 47 * hour_ms;
	assert_last(f, 2, base_ms + 2000);
	f->now_ms = base_ms + 1999;
	assert_last(f, 1, base_ms);
}

static void a_node_without_any_report_is_listed_without_one(void **state)
{
	struct fixture *f = *state;
	struct last_reports reports = read_all(f);

	assert_int_equal(reports.count, 1);
	assert_true(reports.list[0].sample_ms == UINT64_MAX);
	last_reports_fini(&reports);
}

static void a_row_that_cannot_be_read_is_no_report(void **state)
{
	static const char *const breaks[] = {
		"UPDATE head SET body = x'00ff'",
		"UPDATE run SET run_id = x'00'",
	};
	struct fixture *f = *state;

	fixture_add_at(f, 1, f->now_ms);
	for (size_t i = 0; i < count_of(breaks); i++) {
		struct last_reports reports;

		assert_int_equal(db_exec(f->db, breaks[i], NULL), 0);
		reports = read_all(f);
		assert_true(reports.list[0].sample_ms == UINT64_MAX);
		last_reports_fini(&reports);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(the_newest_row_of_a_node_is_its_last_report),
		fixture_test(
			a_node_without_rows_has_the_last_report_of_its_chunks),
		fixture_test(a_report_from_the_future_is_not_the_last_one),
		fixture_test(a_chunk_from_the_future_has_no_last_report),
		fixture_test(a_node_without_any_report_is_listed_without_one),
		fixture_test(a_row_that_cannot_be_read_is_no_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
