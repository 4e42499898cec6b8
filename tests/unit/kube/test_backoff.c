#include "kube/backoff.h"

#include "tests/support/cm.h"

#include <limits.h>

static void doubles_from_one_to_thirty_seconds(void **state)
{
	(void)state;
	assert_int_equal(backoff_ms(1, 0.0), 1000);
	assert_int_equal(backoff_ms(1, 0.999999), 1999);
	assert_int_equal(backoff_ms(2, 0.0), 2000);
	assert_int_equal(backoff_ms(3, 0.5), 6000);
	assert_int_equal(backoff_ms(4, 0.0), 8000);
	assert_int_equal(backoff_ms(5, 0.0), 15000);
	assert_int_equal(backoff_ms(5, 0.999999), 29999);
	assert_int_equal(backoff_ms(6, 0.0), 15000);
	assert_int_equal(backoff_ms(64, 0.0), 15000);
	assert_int_equal(backoff_ms(UINT_MAX, 0.999999), 29999);
}

static void waits_even_without_failures(void **state)
{
	(void)state;
	assert_int_equal(backoff_ms(0, 0.0), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles_from_one_to_thirty_seconds),
		cmocka_unit_test(waits_even_without_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
