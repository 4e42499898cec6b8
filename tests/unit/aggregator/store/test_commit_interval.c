#include "aggregator/store/commit_interval.h"

#include "tests/support/cm.h"

static void quick_commits_make_the_wait_long(void **state)
{
	struct commit_interval interval = { 0 };

	(void)state;
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US);
	commit_interval_note(&interval, 3000);
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US - 3000);
	commit_interval_note(&interval, 1000);
	assert_in_range(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US - 3000, COMMIT_INTERVAL_MOST_US - 2900);
}

static void slow_commits_make_the_wait_short_down_to_a_limit(void **state)
{
	struct commit_interval interval = { 0 };

	(void)state;
	commit_interval_note(&interval,
		COMMIT_INTERVAL_MOST_US - COMMIT_INTERVAL_LEAST_US);
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_LEAST_US);
	commit_interval_note(&interval, UINT64_C(3600000000));
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_LEAST_US);
}

static void a_slow_commit_counts_for_some_seconds(void **state)
{
	struct commit_interval interval = { 0 };

	(void)state;
	commit_interval_note(&interval, 400000);
	for (int i = 0; i < 60; i++) {
		commit_interval_note(&interval, 2000);
	}
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_LEAST_US);
	for (int i = 0; i < 200; i++) {
		commit_interval_note(&interval, 2000);
	}
	assert_in_range(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US - 8000, COMMIT_INTERVAL_MOST_US - 5000);
}

static void a_slow_step_counts_like_a_slow_commit_and_a_quick_one_not(
	void **state)
{
	struct commit_interval interval = { 0 };

	(void)state;
	commit_interval_note_step(&interval, 30000);
	for (int i = 0; i < 1000; i++) {
		commit_interval_note_step(&interval, 100);
	}
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US - 30000);
	commit_interval_note_step(&interval, UINT64_C(3600000000));
	assert_int_equal(commit_interval_us(&interval),
		COMMIT_INTERVAL_LEAST_US);
	for (int i = 0; i < 200; i++) {
		commit_interval_note(&interval, 2000);
	}
	assert_in_range(commit_interval_us(&interval),
		COMMIT_INTERVAL_MOST_US - 8000, COMMIT_INTERVAL_MOST_US - 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quick_commits_make_the_wait_long),
		cmocka_unit_test(
			slow_commits_make_the_wait_short_down_to_a_limit),
		cmocka_unit_test(a_slow_commit_counts_for_some_seconds),
		cmocka_unit_test(
			a_slow_step_counts_like_a_slow_commit_and_a_quick_one_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
