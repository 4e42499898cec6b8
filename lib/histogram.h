/* A histogram with exponential buckets, like those of Prometheus' clients. A
 * value; zeroed is empty. */
#pragma once

#include "lib/buffer.h"

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BOUNDS_MAX = 20 };

/* Bounds first, first x factor, first x factor^2 ... */
struct histogram_shape {
	double first, factor;
	size_t bounds; /* at most HISTOGRAM_BOUNDS_MAX */
};

struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS_MAX +
		1]; /* the last: above all bounds */
	uint64_t count;
	double sum;
};

/* A bound belongs to the bucket below it. */
void histogram_observe(struct histogram *histogram,
	const struct histogram_shape *shape, double value);

/* Appends the series name_bucket, name_sum and name_count. labels: the text
 * inside the braces, or "". */
void histogram_write(struct buffer *out, const char *name, const char *labels,
	const struct histogram *histogram, const struct histogram_shape *shape);
