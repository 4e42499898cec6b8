#include "scheduler/forecast/shortage.h"

#include <math.h>

/* The upper tail of the gamma distribution of shape k and scale 1, by Wilson
 * and Hilferty: the cube root of a gamma is nearly normal. */
static double gamma_tail(double k, double x)
{
	double z = 3 * sqrt(k) * (cbrt(x / k) - 1 + 1 / (9 * k));

	return erfc(z * M_SQRT1_2) / 2;
}

static double normal_shortage(double distance, double deviation)
{
	double z = distance / deviation;
	double density = exp(-z * z / 2) / sqrt(2 * M_PI);

	return deviation * density - distance * erfc(z * M_SQRT1_2) / 2;
}

/* distance: from the mean to the cores. */
static double gamma_shortage(double distance, double variance, double skewness)
{
	double k = 4 / (skewness * skewness);
	double scale = sqrt(variance / k);
	double above = distance + k * scale; /* from the least possible D */

	if (above <= 0) {
		return -distance;
	}
	return k * scale * gamma_tail(k + 1, above / scale) -
		above * gamma_tail(k, above / scale);
}

double shortage_expected(double mean, double variance, double third,
	double cores)
{
	double distance = cores - mean;
	double certain = distance < 0 ? -distance : 0;
	double deviation, skewness, expected;

	if (!isfinite(distance)) {
		return 0;
	}
	if (!(variance > 0) || !isfinite(variance)) {
		return certain;
	}
	deviation = sqrt(variance);
	if (distance > SHORTAGE_DEVIATIONS * deviation) {
		return 0;
	}
	skewness = third / (variance * deviation);
	expected = skewness >= SHORTAGE_SKEWNESS_MIN
		? gamma_shortage(distance, variance, skewness)
		: normal_shortage(distance, deviation);
	/* Also where the approximation is below, or is NAN. */
	return expected > certain ? expected : certain;
}
