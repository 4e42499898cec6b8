#include "scheduler/score/beta.h"

#include <math.h>

/* Enough for a, b up to 1e5: convergence takes about sqrt(a + b) steps. */
enum { STEPS_MAX = 4000 };

static double away_from_zero(double x)
{
	const double tiny = 1e-300;

	return fabs(x) < tiny ? tiny : x;
}

/* Lentz's method. */
static double continued_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double value = d;

	for (int i = 1; i <= STEPS_MAX; i++) {
		double m = i;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x /
			((a + 2 * m) * (a + 2 * m + 1));
		double change;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		value *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		change = d * c;
		value *= change;
		if (fabs(change - 1) < 1e-15) {
			break;
		}
	}
	return value;
}

double beta_probability(double x, double a, double b)
{
	double front;

	if (!(x > 0)) {
		return 0;
	}
	if (x >= 1) {
		return 1;
	}
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) +
		b * log1p(-x));
	/* The fraction converges fast only below the mean. */
	if (x < (a + 1) / (a + b + 2)) {
		return front * continued_fraction(x, a, b) / a;
	}
	return 1 - front * continued_fraction(1 - x, b, a) / b;
}
