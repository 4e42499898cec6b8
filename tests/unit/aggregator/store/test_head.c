#include "aggregator/store/head.h"

#include "tests/unit/aggregator/store/fixture.h"

#include <errno.h>

static void each_seq_is_stored_once_in_any_order(void **state)
{
	struct fixture *f = *state;
	uint64_t seq = 1;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 101; i++) {
			seq = (seq + 37) % 101;
			fixture_add_at(f, seq + 1, f->now_ms);
		}
	}
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"), 101);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM seqs"), 1);
	assert_int_equal(fixture_number(f, "SELECT last FROM seqs"), 101);
}

static int add_of_run(struct fixture *f, int number, uint64_t stored_ms)
{
	uint8_t run_id[REPORT_RUN_ID_BYTES] = { 'r' };
	const struct head_report row = { .node = f->node,
		.run_id = run_id,
		.seq = stored_ms,
		.sample_ms = f->now_ms,
		.stored_ms = stored_ms,
		.body = "",
		.len = 1 };

	memcpy(&run_id[4], &number, sizeof(number));
	return head_add(f->head, &row, NULL);
}

/* Its reports may come after a long time and wait to be packed. */
static void a_run_that_reports_again_is_not_deleted(void **state)
{
	struct fixture *f = *state;
	uint64_t old_ms = f->now_ms - 100 * hour_ms;

	assert_int_equal(add_of_run(f, 1, old_ms), 1);
	assert_int_equal(add_of_run(f, 2, old_ms), 1);
	assert_int_equal(add_of_run(f, 1, f->now_ms), 1);
	assert_int_equal(head_delete_runs(f->db, f->now_ms - hour_ms, NULL), 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM run"), 1);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM seqs"), 2);
}

static void a_node_has_a_limited_number_of_runs(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (int i = 0; i < HEAD_RUNS_MAX; i++) {
		assert_int_equal(add_of_run(f, i, 1), 1);
	}
	assert_int_equal(add_of_run(f, HEAD_RUNS_MAX, 1), -EDQUOT);
	assert_int_equal(add_of_run(f, 7, 2), 1);
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

/* Every second seq is missing. */
static void a_run_has_a_limited_number_of_gaps(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (uint64_t i = 1; i <= HEAD_SEQS_MAX; i++) {
		assert_int_equal(add_of_run(f, 1, 2 * i), 1);
	}
	assert_int_equal(add_of_run(f, 1, 2 * HEAD_SEQS_MAX + 2), -EDQUOT);
	assert_int_equal(add_of_run(f, 1, 3), 1);
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(each_seq_is_stored_once_in_any_order),
		fixture_test(a_run_that_reports_again_is_not_deleted),
		fixture_test(a_node_has_a_limited_number_of_runs),
		fixture_test(a_run_has_a_limited_number_of_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
