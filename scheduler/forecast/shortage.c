#include "scheduler/forecast/shortage.h"

#include <math.h>

#include "scheduler/forecast/shortage_table.h"

/* The axes of the table, as in tests/support/shortage_table.py. Rows are even
 * in s / (s + HALF), s = skewness; the columns are dense where demand just
 * reaches the cores, which is near the least possible demand. */
static const double half = 2.0, share_max = 0.95, far = 14.0, near = 0.25;

/* A place between the points of a table: the second of four points, and how
 * much each of the four counts (Lagrange's cubic polynomials). */
struct place {
	int point;
	double weights[4];
};

/* at: from 0 to `last`, in points. */
static struct place place_at(double at, int last)
{
	int point = (int)at;
	double x;

	point = point < 1 ? 1 : point;
	point = point > last - 2 ? last - 2 : point;
	x = at - point;
	return (struct place){
		.point = point,
		.weights = {
			-x * (x - 1) * (x - 2) / 6,
			(x + 1) * (x - 1) * (x - 2) / 2,
			-(x + 1) * x * (x - 2) / 2,
			(x + 1) * x * (x - 1) / 6,
		},
	};
}

static double interpolated(double row, double column)
{
	const struct place r = place_at(row, SHORTAGE_ROWS);
	const struct place c = place_at(column, SHORTAGE_COLUMNS);
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		const float *from = &shortage_log[r.point - 1 + i][c.point - 1];

		sum += r.weights[i] *
			(c.weights[0] * (double)from[0] +
				c.weights[1] * (double)from[1] +
				c.weights[2] * (double)from[2] +
				c.weights[3] * (double)from[3]);
	}
	return sum;
}

/* The shortage at a distance from the mean, both in standard deviations. */
static double standardised(double distance, double skewness)
{
	double first = -2 / sqrt(skewness * skewness + near);
	double beyond = distance > far ? distance - far : 0;
	double row = skewness / (skewness + half) / share_max * SHORTAGE_ROWS;
	double logarithm;

	if (distance <= first) {
		return -distance;
	}
	logarithm = interpolated(row,
		sqrt((distance - beyond - first) / (far - first)) *
			SHORTAGE_COLUMNS);
	/* The tail of a gamma distribution is nearly exponential. */
	return exp(beyond > 0 ? logarithm - beyond * 2 / skewness : logarithm);
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
	skewness = third / (variance * deviation);
	skewness = skewness > 0 ? skewness : 0;
	skewness = skewness < SHORTAGE_SKEWNESS_MAX ? skewness
						    : SHORTAGE_SKEWNESS_MAX;
	expected = deviation * standardised(distance / deviation, skewness);
	/* Also where the interpolation is below, or is NAN. */
	return expected > certain && isfinite(expected) ? expected : certain;
}
