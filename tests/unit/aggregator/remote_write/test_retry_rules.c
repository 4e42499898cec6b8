#include "aggregator/remote_write/retry_rules.h"

#include "tests/support/cm.h"

#include "lib/memory.h"

static void every_answer_has_its_verdict(void **state)
{
	static const struct {
		int status;
		enum remote_verdict verdict;
	} cases[] = {
		{ 200, REMOTE_SENT },
		{ 204, REMOTE_SENT },
		{ 0, REMOTE_AGAIN },
		{ 302, REMOTE_AGAIN },
		{ 400, REMOTE_REFUSED },
		{ 401, REMOTE_AGAIN },
		{ 403, REMOTE_AGAIN },
		{ 404, REMOTE_AGAIN },
		{ 408, REMOTE_AGAIN },
		{ 409, REMOTE_REFUSED },
		{ 413, REMOTE_REFUSED },
		{ 422, REMOTE_REFUSED },
		{ 429, REMOTE_AGAIN },
		{ 500, REMOTE_AGAIN },
		{ 503, REMOTE_AGAIN },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(remote_judge(cases[i].status),
			cases[i].verdict);
	}
}

static void waits_longer_each_time_and_as_long_as_it_is_asked_to(void **state)
{
	(void)state;
	assert_in_range(remote_wait_ms(1, 0, 0), 1000, 2000);
	assert_in_range(remote_wait_ms(3, 0, 0.999), 4000, 8000);
	assert_in_range(remote_wait_ms(100, 0, 0.999), 15000, 30000);
	assert_int_equal(remote_wait_ms(1, 17000, 0), 17000);
	/* What is absurd is not waited for. */
	assert_int_equal(remote_wait_ms(1, 86400000, 0), 300000);
}

static void what_is_refused_is_halved_down_to_one_and_grows_again(void **state)
{
	uint64_t count = 1000;
	int steps = 0;

	(void)state;
	for (; count > 1; steps++) {
		count = remote_less(count);
	}
	assert_int_equal(steps, 9);
	assert_int_equal(remote_less(1), 1);
	assert_int_equal(remote_more(1, 1000), 2);
	assert_int_equal(remote_more(500, 1000), 1000);
	assert_int_equal(remote_more(501, 1000), 1000);
	assert_int_equal(remote_more(1000, 1000), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_has_its_verdict),
		cmocka_unit_test(
			waits_longer_each_time_and_as_long_as_it_is_asked_to),
		cmocka_unit_test(
			what_is_refused_is_halved_down_to_one_and_grows_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
