#include "aggregator/store/compact.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/partition.h"
#include "tests/unit/aggregator/store/count_hours.h"

STEADY("a stored report is packed, not lost");

static void packed_reports_are_identical(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 4001);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_int_equal(count_hours(f, base_ms, 3), 4000);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM rollup_due"),
		3);
}

static void a_row_without_a_run_does_not_hold_up_the_others(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 11);
	assert_int_equal(
		db_exec(f->db, "UPDATE head SET run = 99 WHERE seq < 11", NULL),
		0);
	fixture_add_range(f, base_ms + hour_ms, 20, 30);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 10);
	assert_int_equal(count_hours(f, base_ms + hour_ms, 1), 10);
}

static void one_step_packs_several_nodes(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	int64_t first = f->node;
	bool is_idle = false;

	fixture_add_range(f, base_ms, 1, 11);
	assert_int_equal(head_find_node(&f->node, f->head, "n2", NULL), 0);
	fixture_add_range(f, base_ms, 1, 21);
	f->now_ms += 2 * hour_ms;
	assert_int_equal(compact_step(f->compact, &is_idle, f->now_ms, NULL),
		0);
	assert_true(is_idle);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_int_equal(count_hours(f, base_ms, 1), 20);
	f->node = first;
	assert_int_equal(count_hours(f, base_ms, 1), 10);
}

static void steps_leave_no_node_out(void **state)
{
	enum { NODES = 50 };
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	bool is_idle = false;
	int steps = 0;

	for (int i = 0; i < NODES; i++) {
		char name[REPORT_NODE_MAX];

		(void)snprintf(name, sizeof(name), "many-%d", i);
		assert_int_equal(head_find_node(&f->node, f->head, name, NULL),
			0);
		fixture_add_range(f, base_ms, 1, 3);
	}
	f->now_ms += 2 * hour_ms;
	for (; !is_idle; steps++) {
		assert_int_equal(
			compact_step(f->compact, &is_idle, f->now_ms, NULL), 0);
	}
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM rollup_due"),
		NODES);
	assert_in_range(steps, 2, 6); /* a step has a limit */
}

static void a_step_that_fails_is_done_again(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	bool is_idle = true;

	fixture_add_range(f, base_ms, 1, 11);
	assert_int_equal(head_find_node(&f->node, f->head, "n2", NULL), 0);
	fixture_add_range(f, base_ms, 1, 21);
	f->now_ms += 2 * hour_ms;
	/* A row of the second node cannot be deleted. */
	assert_int_equal(db_exec(f->db,
				 "CREATE TRIGGER refuse BEFORE DELETE ON head"
				 " WHEN old.seq = 20"
				 " BEGIN SELECT raise(FAIL, 'refused'); END",
				 NULL),
		0);
	assert_true(compact_step(f->compact, &is_idle, f->now_ms, NULL) < 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 30);
	assert_int_equal(db_exec(f->db, "DROP TRIGGER refuse", NULL), 0);
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_int_equal(count_hours(f, base_ms, 1), 20);
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
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
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
	assert_in_range(fixture_number(f, "SELECT count(*) FROM head"), 90,
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
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 200);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
	assert_int_equal(count_hours(f, base_ms, 2), 899);
}

/* Pods of the reports in a chunk, counted in each report. */
static size_t cells_of(const void *bytes, size_t len)
{
	const struct chunk_selection want = { SCHEMA_PODS, NULL };
	struct chunk *chunk;
	size_t cells = 0;

	assert_int_equal(chunk_open(&chunk, bytes, len, &want, NULL), 0);
	for (size_t i = 0; i < chunk_count(chunk); i++) {
		struct chunk_report got;

		assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
		cells += got.report.vm_count;
		report_fini(&got.report);
	}
	chunk_close(chunk);
	return cells;
}

static void small_pods_do_not_make_a_large_chunk(void **state)
{
	enum { REPORTS = 60, PODS_MAX = 1 << 15 };
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct partition_reader reader = { .tier = STORE_RAW };
	struct sqlite3_stmt *chunks;
	size_t cells = 0;

	for (size_t seq = 1; seq <= REPORTS; seq++) {
		struct report r = steady_report(seq, 2 * (double)seq, 1.5);

		fixture_crowd(&r, seq * REPORT_VMS_MAX, REPORT_VMS_MAX);
		fixture_add_report(f, &r, base_ms + 2000 * seq);
	}
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(partition_select(&chunks, &reader, f->db, f->node,
				 base_ms, NULL),
		0);
	while (sqlite3_step(chunks) == SQLITE_ROW) {
		size_t more = cells_of(sqlite3_column_blob(chunks, 0),
			(size_t)sqlite3_column_bytes(chunks, 0));

		assert_in_range(more, 1, PODS_MAX);
		cells += more;
	}
	partition_reader_fini(&reader);
	assert_int_equal(cells, REPORTS * REPORT_VMS_MAX);
}

/* The clock was set back by this, after the reports were stored. */
static void rows_wait(struct fixture *f, uint64_t back_ms, int64_t left)
{
	uint64_t before_ms = f->now_ms;

	f->now_ms -= back_ms;
	fixture_pack_all(f);
	f->now_ms = before_ms;
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), left);
}

static void rows_stored_in_the_future_wait_as_long_as_others(void **state)
{
	struct fixture *f = *state;
	uint64_t due_ms = hour_ms + hour_ms / 12;

	fixture_add_range(f, f->now_ms - 8 * hour_ms, 1, 11);
	rows_wait(f, 0, 10);
	rows_wait(f, 1, 10);
	rows_wait(f, due_ms - 1, 10);
	rows_wait(f, due_ms, 0);
}

/* The clock was ahead and was set back. The rows between them are young. */
static void rows_sampled_in_the_future_are_due_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms + 8 * hour_ms;

	fixture_add_at(f, 100, f->now_ms - 1000);
	fixture_add_range(f, base_ms, 1, 11);
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 1);
	assert_int_equal(fixture_number(f, "SELECT seq FROM head"), 100);
	assert_int_equal(count_hours(f, base_ms, 1), 10);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(packed_reports_are_identical),
		fixture_test(a_row_without_a_run_does_not_hold_up_the_others),
		fixture_test(one_step_packs_several_nodes),
		fixture_test(steps_leave_no_node_out),
		fixture_test(a_step_that_fails_is_done_again),
		fixture_test(each_day_is_read_from_its_own_table),
		fixture_test(the_newest_stay_rows_and_all_are_read_in_order),
		fixture_test(packed_reports_are_not_stored_again),
		fixture_test(rows_stored_in_the_future_wait_as_long_as_others),
		fixture_test(rows_sampled_in_the_future_are_due_at_once),
		fixture_test(small_pods_do_not_make_a_large_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
