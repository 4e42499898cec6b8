#include "aggregator/ingest/rate_limit.h"

#include "tests/support/cm.h"

static const uint64_t second = 1000000;

static int setup(void **state)
{
	*state = rate_limit_new();
	return 0;
}

static int teardown(void **state)
{
	rate_limit_free(*state);
	return 0;
}

/* Full batches as fast as they are acknowledged, ten a second. */
static void an_agent_sends_four_days_after_an_outage(void **state)
{
	const size_t days = 4 * 86400 / 2;

	for (size_t i = 0; i < days / 256; i++) {
		assert_true(rate_limit_take(*state, 1, 256, 256 << 10,
			i * second / 10));
	}
}

static void the_fastest_agent_reports_without_end(void **state)
{
	for (uint64_t s = 0; s < 100000; s++) {
		assert_true(rate_limit_take(*state, 1, 10, (size_t)10 * 100000,
			s * second));
	}
}

static void more_reports_wait_for_the_refill(void **state)
{
	assert_true(rate_limit_take(*state, 1, RATE_LIMIT_REPORTS, 1, 0));
	assert_false(rate_limit_take(*state, 1, 1, 1, 0));
	assert_false(rate_limit_take(*state, 1, 101, 1, second));
	assert_true(rate_limit_take(*state, 1, 100, 1, second));
	assert_false(rate_limit_take(*state, 1, 1, 1, second));
}

static void more_bytes_wait_for_the_refill(void **state)
{
	assert_true(rate_limit_take(*state, 1, 1, RATE_LIMIT_BYTES, 0));
	assert_false(rate_limit_take(*state, 1, 1, 1, 0));
	assert_true(
		rate_limit_take(*state, 1, 1, RATE_LIMIT_BYTES_PER_S, second));
}

static void a_sender_does_not_use_up_the_share_of_another(void **state)
{
	assert_true(rate_limit_take(*state, 1, RATE_LIMIT_REPORTS, 1, 0));
	assert_false(rate_limit_take(*state, 1, 1, 1, 0));
	assert_true(rate_limit_take(*state, 2, RATE_LIMIT_REPORTS, 1, 0));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_agent_sends_four_days_after_an_outage),
		test(the_fastest_agent_reports_without_end),
		test(more_reports_wait_for_the_refill),
		test(more_bytes_wait_for_the_refill),
		test(a_sender_does_not_use_up_the_share_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
