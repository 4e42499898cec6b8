/* Mean and deviation of a rate over a sliding window of time, in fixed memory.
 * Pure; the caller chooses the clock.
 *
 * Time is divided into slots of equal length. Each slot has the weight, the
 * mean and the sum of squared deviations of its values, merged by Chan's
 * formula, which stays exact for large values, unlike a sum of squares. The
 * weight of a value is its duration, so uneven intervals do not distort the
 * mean. The slot at the start of the window counts by the part that is inside:
 * the error is at most the variation within that slot. */
#pragma once

#include "aggregator/series/slot_ring.h"

struct window_slot {
	float weight_s;
	float mean;
	float squares; /* sum of weight * (value - mean)^2 */
};

struct window {
	struct slot_ring ring;
	struct window_slot *slots; /* owned; slot n is at n % count */
};

/* NAN without data. */
struct window_figures {
	double mean, stdev;
};

/* A window is at most slots - 1 slots. */
void window_init(struct window *window, uint64_t slot_us, size_t slots);
void window_fini(struct window *window); /* NULL and zeroed are fine */

/* Removes all data, when the clock restarts. */
void window_clear(struct window *window);

/* Adds a value that was valid from from_us to to_us; values may be added in any
 * order. Ignores NAN and times before the oldest slot. */
void window_add(struct window *window, uint64_t from_us, uint64_t to_us,
	double value);

/* Adds data of a window with the same slots that this one does not have. */
void window_merge(struct window *window, const struct window *other);

/* The figures from now_us - stretch_us to now_us. now_us is not before the
 * newest value. */
struct window_figures window_read(const struct window *window, uint64_t now_us,
	uint64_t stretch_us);

/* The mean alone takes half of the time. */
double window_mean(const struct window *window, uint64_t now_us,
	uint64_t stretch_us);
