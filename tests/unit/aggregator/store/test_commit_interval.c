#include "aggregator/store/commit_interval.h"

#include "tests/support/cm.h"

static void quick_commits_are_waited_for_long(void **state)
{
	struct pace pace = { 0 };

	(void)state;
	assert_int_equal(pace_gather_us(&pace), PACE_MOST_US);
	pace_note(&pace, 3000);
	assert_int_equal(pace_gather_us(&pace), PACE_MOST_US - 3000);
	pace_note(&pace, 1000);
	assert_in_range(pace_gather_us(&pace), PACE_MOST_US - 3000,
		PACE_MOST_US - 2900);
}

static void slow_ones_make_the_wait_short_and_never_shorter(void **state)
{
	struct pace pace = { 0 };

	(void)state;
	pace_note(&pace, PACE_MOST_US - PACE_LEAST_US);
	assert_int_equal(pace_gather_us(&pace), PACE_LEAST_US);
	pace_note(&pace, UINT64_C(3600000000));
	assert_int_equal(pace_gather_us(&pace), PACE_LEAST_US);
}

static void a_slow_one_is_forgotten_after_some_seconds(void **state)
{
	struct pace pace = { 0 };

	(void)state;
	pace_note(&pace, 200000);
	for (int i = 0; i < 60; i++) {
		pace_note(&pace, 2000);
	}
	assert_int_equal(pace_gather_us(&pace), PACE_LEAST_US);
	for (int i = 0; i < 200; i++) {
		pace_note(&pace, 2000);
	}
	assert_in_range(pace_gather_us(&pace), 96000, 98000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quick_commits_are_waited_for_long),
		cmocka_unit_test(
			slow_ones_make_the_wait_short_and_never_shorter),
		cmocka_unit_test(a_slow_one_is_forgotten_after_some_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
