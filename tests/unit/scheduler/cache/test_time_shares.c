#include "scheduler/cache/time_shares.h"

#include "tests/support/cm.h"

#define SECOND INT64_C(1000000)

/* Ten ms of each 40 ms are a quarter, and eleven are more. */
static void a_quarter_of_the_time_is_within_the_share(void **state)
{
	struct time_shares shares = { 0 };
	int64_t now = SECOND;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		now += 40000;
		time_shares_add(&shares, 1, 10000, now);
		assert_false(time_shares_any_is_over(&shares, now));
	}
	for (int i = 0; i < 980; i++) {
		now += 40000;
		time_shares_add(&shares, 1, 11000, now);
	}
	assert_false(time_shares_is_over(&shares, 1, now));
	time_shares_add(&shares, 1, 1000, now);
	time_shares_add(&shares, 1, 10000, now);
	assert_true(time_shares_is_over(&shares, 1, now));
	assert_true(time_shares_any_is_over(&shares, now));
	assert_false(time_shares_is_over(&shares, 2, now));
}

static void a_debt_is_forgotten_after_twelve_seconds(void **state)
{
	struct time_shares shares = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		time_shares_add(&shares, 1, SECOND, SECOND);
	}
	assert_true(time_shares_is_over(&shares, 1, 13 * SECOND - 4));
	assert_false(time_shares_is_over(&shares, 1, 13 * SECOND));
}

static void the_fullest_buckets_are_kept(void **state)
{
	struct time_shares shares = { 0 };

	(void)state;
	time_shares_add(&shares, 1, 2 * SECOND, SECOND);
	for (uint32_t i = 2; i < 1000; i++) {
		time_shares_add(&shares, i, 10, SECOND);
	}
	assert_true(time_shares_is_over(&shares, 1, SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quarter_of_the_time_is_within_the_share),
		cmocka_unit_test(a_debt_is_forgotten_after_twelve_seconds),
		cmocka_unit_test(the_fullest_buckets_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
