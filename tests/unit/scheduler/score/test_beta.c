#include "scheduler/score/beta.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/memory.h"

/* Closed forms: I_x(1, 1) = x, I_x(a, 1) = x^a, I_x(1, b) = 1 - (1 - x)^b,
 * I_x(2, 2) = 3 x^2 - 2 x^3, I_x(1/2, 1/2) = 2/pi asin sqrt x. */
static void equals_the_closed_forms(void **state)
{
	(void)state;
	for (int i = 0; i <= 100; i++) {
		double x = i / 100.0;

		assert_true(fabs(beta_probability(x, 1, 1) - x) < 1e-12);
		assert_true(
			fabs(beta_probability(x, 7, 1) - pow(x, 7)) < 1e-12);
		assert_true(fabs(beta_probability(x, 1, 5) - 1 +
				    pow(1 - x, 5)) < 1e-12);
		assert_true(fabs(beta_probability(x, 2, 2) - 3 * x * x +
				    2 * x * x * x) < 1e-12);
		assert_true(fabs(beta_probability(x, 0.5, 0.5) -
				    2 / acos(-1) * asin(sqrt(x))) < 1e-12);
	}
}

static void check_shape(double a, double b)
{
	for (int i = -1; i <= 41; i++) {
		double x = i / 40.0;
		double p = beta_probability(x, a, b);
		double q = beta_probability(1 - x, b, a);

		assert_true(p >= 0 && p <= 1 + 1e-9);
		assert_true(fabs(p + q - 1) < 1e-7);
	}
}

static void is_symmetric_and_within_0_to_1(void **state)
{
	static const double shapes[] = { 1e-3, 0.3, 1, 8, 300, 9e4 };
	const size_t count = count_of(shapes);

	(void)state;
	for (size_t i = 0; i < count * count; i++) {
		check_shape(shapes[i / count], shapes[i % count]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_the_closed_forms),
		cmocka_unit_test(is_symmetric_and_within_0_to_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
