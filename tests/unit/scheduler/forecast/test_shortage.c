#include "scheduler/forecast/shortage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/memory.h"

/* E[max(0, X - distance)] for a gamma distribution of this skewness that is
 * shifted to mean 0 and variance 1: the integral over the logarithm of what
 * lies above the least possible value, by the midpoint rule. */
static double integral(double distance, double skewness)
{
	const int steps = 20000;
	double k = 4 / (skewness * skewness);
	double scale = skewness / 2;
	double least = (distance + 2 / skewness) / scale;
	double from = log(least);
	double step = (log(least + k + 60 * (1 + sqrt(k))) - from) / steps;
	double sum = 0;

	for (int i = 0; i < steps; i++) {
		double w = from + (i + 0.5) * step;
		double x = exp(w);

		sum += (x - least) * exp(k * w - x - lgamma(k));
	}
	return scale * sum * step;
}

/* Returns how many figures were compared at this skewness. Steps that the table
 * does not have; far out and below the mean of a nearly normal distribution,
 * too. */
static size_t compare_at(double skewness)
{
	double first = fmax(-2 / skewness + 0.01, -4);
	size_t compared = 0;

	for (int i = 0; first + 0.137 * i < 14; i++) {
		double z = first + 0.137 * i;
		double exact = integral(z, skewness);
		double is =
			shortage_expected(20, 16, skewness * 64, 20 + 4 * z);

		if (exact < 1e-10) {
			break;
		}
		assert_true(fabs(is / (4 * exact) - 1) < 0.02);
		compared++;
	}
	return compared;
}

static void is_within_2_percent_of_the_integral(void **state)
{
	double skewness = 0.06;
	size_t compared = 0;

	(void)state;
	while (skewness < 30) {
		compared += compare_at(skewness);
		skewness *= 1.13;
	}
	assert_true(compared > 3000);
}

static void more_demand_never_lowers_it(void **state)
{
	(void)state;
	for (int third = 0; third < 600; third += 7) {
		double before = 0;

		for (int i = 0; i < 4800; i++) {
			double is = shortage_expected(0.01 * i, 16, third, 32);

			assert_true(is >= before);
			before = is;
		}
	}
}

static void without_skewness_it_is_the_normal_distribution(void **state)
{
	const double at_the_mean = 4 / sqrt(2 * M_PI);

	(void)state;
	assert_true(fabs(shortage_expected(32, 16, 0, 32) / at_the_mean - 1) <
		0.005);
	assert_true(fabs(shortage_expected(28, 16, 0, 32) / (4 * 0.0833154706) -
			    1) < 0.005);
	assert_true(fabs(shortage_expected(32, 16, -50, 32) / at_the_mean - 1) <
		0.005);
	/* The gamma distribution meets it. */
	assert_true(fabs(shortage_expected(30, 16, 1e-3 * 64, 32) /
				    shortage_expected(30, 16, 0, 32) -
			    1) < 0.005);
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

/* At skewness 3.2 and 9 deviations the exact figure is 4.9e-4 deviations; the
 * difference of two approximate tails is 0 there. */
static void the_far_tail_is_small_and_not_nothing(void **state)
{
	double before = INFINITY;

	(void)state;
	assert_true(
		fabs(shortage_expected(0, 1, 3.2, 9) / 4.897e-4 - 1) < 0.02);
	for (int i = 0; i < 1000; i++) {
		double is = shortage_expected(0, 1, 3.2, 10 + 0.05 * i);

		assert_true(is > 0 && is < before);
		before = is;
	}
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
		cmocka_unit_test(is_within_2_percent_of_the_integral),
		cmocka_unit_test(more_demand_never_lowers_it),
		cmocka_unit_test(
			without_skewness_it_is_the_normal_distribution),
		cmocka_unit_test(jumps_of_large_vms_make_a_far_limit_less_safe),
		cmocka_unit_test(a_limit_below_all_demand_lacks_the_difference),
		cmocka_unit_test(the_far_tail_is_small_and_not_nothing),
		cmocka_unit_test(is_finite_and_not_negative_for_any_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
