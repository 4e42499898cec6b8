#include "aggregator/ingest/stored_late.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/report.h"
#include "tests/support/cm.h"

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 0xa };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 0xb };

static int setup(void **state)
{
	*state = stored_late_new();
	return 0;
}

static int teardown(void **state)
{
	stored_late_free(*state);
	return 0;
}

static void has_the_added_reports_only(void **state)
{
	struct stored_late *late = *state;

	assert_false(stored_late_has(late, "n1", run_a, 7));
	stored_late_add(late, "n1", run_a, 7);
	assert_true(stored_late_has(late, "n1", run_a, 7));
	assert_false(stored_late_has(late, "n1", run_a, 6));
	assert_false(stored_late_has(late, "n1", run_a, 8));
	assert_false(stored_late_has(late, "n1", run_b, 7));
	assert_false(stored_late_has(late, "n2", run_a, 7));
}

static void accepts_seqs_in_any_order(void **state)
{
	struct stored_late *late = *state;
	bool added[100] = { false };

	srandom(1);
	for (int step = 0; step < 2000; step++) {
		uint64_t seq = 1 + (uint64_t)random() % 99;

		stored_late_add(late, "n1", run_a, seq);
		added[seq] = true;
		if (step % 10 != 0) {
			continue;
		}
		for (uint64_t i = 1; i < 100; i++) {
			assert_int_equal(stored_late_has(late, "n1", run_a, i),
				added[i]);
		}
	}
}

static void successive_seqs_share_one_span(void **state)
{
	struct stored_late *late = *state;

	stored_late_add(late, "n1", run_a, 1);
	for (uint64_t i = 2; i < 1000; i++) {
		/* 3 before 2, 5 before 4: the gaps close again. */
		stored_late_add(late, "n1", run_a, i ^ 1);
	}
	assert_true(stored_late_has(late, "n1", run_a, 1));
	assert_true(stored_late_has(late, "n1", run_a, 999));
}

static void forgets_the_first_spans_and_the_oldest_runs(void **state)
{
	struct stored_late *late = *state;
	char node[32];

	for (uint64_t i = 0; i <= STORED_LATE_SPANS_MAX; i++) {
		stored_late_add(late, "n1", run_a, 10 + 2 * i);
	}
	assert_false(stored_late_has(late, "n1", run_a, 10));
	assert_true(stored_late_has(late, "n1", run_a, 12));
	/* A seq below all spans of a full list is not added. */
	stored_late_add(late, "n1", run_a, 5);
	assert_false(stored_late_has(late, "n1", run_a, 5));
	assert_true(stored_late_has(late, "n1", run_a, 12));

	stored_late_add(late, "n2", run_a, 1);
	stored_late_add(late, "n1", run_a, 12);
	for (int i = 0; i < STORED_LATE_RUNS_MAX - 1; i++) {
		(void)snprintf(node, sizeof(node), "other-%d", i);
		stored_late_add(late, node, run_a, 1);
	}
	assert_false(stored_late_has(late, "n2", run_a, 1));
	assert_true(stored_late_has(late, "n1", run_a, 12));
	stored_late_add(late, "n3", run_a, 1);
	assert_false(stored_late_has(late, "n1", run_a, 12));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(has_the_added_reports_only,
			setup, teardown),
		cmocka_unit_test_setup_teardown(accepts_seqs_in_any_order,
			setup, teardown),
		cmocka_unit_test_setup_teardown(successive_seqs_share_one_span,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			forgets_the_first_spans_and_the_oldest_runs, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
