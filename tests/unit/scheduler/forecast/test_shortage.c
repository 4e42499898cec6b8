#include "scheduler/forecast/shortage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/memory.h"

/* Integrals of (x - a) times the density of the gamma distribution, by the
 * midpoint rule. The approximation is within a tenth wherever a shortage could
 * pay for a move. */
static void is_close_to_the_integral(void **state)
{
	static const struct {
		double mean, variance, third, cores, expected, tolerance;
	} cases[] = {
		{ 20, 16, 40, 32, 0.01393077517, 0.1 },
		{ 20, 16, 64, 32, 0.02730049115, 0.1 },
		{ 24, 9, 10, 32, 0.01158133257, 0.05 },
		{ 28, 25, 100, 32, 0.7290071957, 0.01 },
		{ 30, 9, 30, 32, 0.5397781897, 0.02 },
		{ 34, 16, 60, 32, 2.650241497, 0.001 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		double is = shortage_expected(cases[i].mean, cases[i].variance,
			cases[i].third, cases[i].cores);

		assert_true(
			fabs(is / cases[i].expected - 1) < cases[i].tolerance);
	}
}

static void without_skewness_it_is_the_normal_distribution(void **state)
{
	const double at_the_mean = 4 / sqrt(2 * M_PI);

	(void)state;
	assert_true(
		fabs(shortage_expected(32, 16, 0, 32) - at_the_mean) < 1e-9);
	assert_true(fabs(shortage_expected(28, 16, 0, 32) - 4 * 0.0833154706) <
		1e-6);
	assert_true(
		fabs(shortage_expected(32, 16, -50, 32) - at_the_mean) < 1e-9);
	/* The two meet near the limit. */
	assert_true(fabs(shortage_expected(30, 16, 0.051 * 64, 32) /
				    shortage_expected(30, 16, 0.049 * 64, 32) -
			    1) < 0.01);
}

static void jumps_of_large_vms_make_a_far_limit_less_safe(void **state)
{
	(void)state;
	assert_true(shortage_expected(20, 16, 200, 40) >
		5 * shortage_expected(20, 16, 20, 40));
}

static void a_limit_below_all_demand_lacks_the_difference(void **state)
{
	(void)state;
	/* k = 0.01: D is at least 20 - 0.4. */
	assert_true(fabs(shortage_expected(20, 16, 20.0 * 64, 10) - 10) < 1e-9);
	assert_true(fabs(shortage_expected(20, 0, 0, 15) - 5) < 1e-9);
	assert_true(shortage_expected(20, 0, 0, 25) <= 0);
}

static void far_from_the_mean_nothing_is_left(void **state)
{
	(void)state;
	assert_true(shortage_expected(0, 1, 10, 13.9) > 0);
	assert_true(shortage_expected(0, 1, 10, 14.1) <= 0);
}

static void is_finite_and_not_negative_for_any_input(void **state)
{
	static const double any[] = { -1e300, -1, -1e-300, 0, 1e-300, 1e-9, 1,
		32, 1e6, 1e300, INFINITY, -INFINITY, NAN };
	const size_t count = count_of(any);

	(void)state;
	for (size_t i = 0; i < count * count * count * count; i++) {
		double mean = any[i % count];
		double cores = any[i / count / count / count];
		double is = shortage_expected(mean, any[i / count % count],
			any[i / count / count % count], cores);

		assert_true(isfinite(is) && is >= 0);
		assert_true(!isfinite(mean - cores) || is >= mean - cores);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_close_to_the_integral),
		cmocka_unit_test(
			without_skewness_it_is_the_normal_distribution),
		cmocka_unit_test(jumps_of_large_vms_make_a_far_limit_less_safe),
		cmocka_unit_test(a_limit_below_all_demand_lacks_the_difference),
		cmocka_unit_test(far_from_the_mean_nothing_is_left),
		cmocka_unit_test(is_finite_and_not_negative_for_any_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
