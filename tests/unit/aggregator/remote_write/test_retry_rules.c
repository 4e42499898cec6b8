#include "aggregator/remote_write/retry_rules.h"

#include "tests/support/cm.h"

#include "lib/memory.h"

static void judges_each_status(void **state)
{
	static const struct {
		int status;
		enum retry_verdict verdict;
	} cases[] = {
		{ 200, RETRY_SENT },
		{ 204, RETRY_SENT },
		{ 0, RETRY_AGAIN },
		{ 302, RETRY_AGAIN },
		{ 400, RETRY_REFUSED },
		{ 401, RETRY_AGAIN },
		{ 403, RETRY_AGAIN },
		{ 404, RETRY_AGAIN },
		{ 408, RETRY_AGAIN },
		{ 409, RETRY_REFUSED },
		{ 413, RETRY_REFUSED },
		{ 422, RETRY_REFUSED },
		{ 429, RETRY_AGAIN },
		{ 500, RETRY_AGAIN },
		{ 503, RETRY_AGAIN },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(retry_judge(cases[i].status),
			cases[i].verdict);
	}
}

static void backs_off_and_honors_retry_after(void **state)
{
	(void)state;
	assert_in_range(retry_wait_ms(1, 0, 0), 1000, 2000);
	assert_in_range(retry_wait_ms(3, 0, 0.999), 4000, 8000);
	assert_in_range(retry_wait_ms(100, 0, 0.999), 15000, 30000);
	assert_int_equal(retry_wait_ms(1, 17000, 0), 17000);
	/* Retry-After is limited. */
	assert_int_equal(retry_wait_ms(1, 86400000, 0), 300000);
}

static void halves_a_refused_request_and_grows_again(void **state)
{
	uint64_t count = 1000;
	int steps = 0;

	(void)state;
	for (; count > 1; steps++) {
		count = retry_shrink(count);
	}
	assert_int_equal(steps, 9);
	assert_int_equal(retry_shrink(1), 1);
	assert_int_equal(retry_grow(1, 1000), 2);
	assert_int_equal(retry_grow(500, 1000), 1000);
	assert_int_equal(retry_grow(501, 1000), 1000);
	assert_int_equal(retry_grow(1000, 1000), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_each_status),
		cmocka_unit_test(backs_off_and_honors_retry_after),
		cmocka_unit_test(halves_a_refused_request_and_grows_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
