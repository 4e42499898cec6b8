/* Percentiles of a rate over a sliding window of time, in fixed memory. Pure;
 * the caller chooses the clock.
 *
 * Time is divided into slots. Each slot counts how long the rate was in each of
 * HISTOGRAM_WINDOW_BINS equal parts of its range. A percentile is read from the
 * sum of the slots, and values are taken as evenly spread in a bin: the error
 * is at most one bin, 1/128 of the range. The slot at the start of the window
 * counts by the part that is inside. A bin takes two bytes, so 25 slots take
 * 6.4 KB. */
#pragma once

#include "aggregator/series/slot_ring.h"

enum { HISTOGRAM_WINDOW_BINS = 128 };

struct histogram_window {
	struct slot_ring ring;
	double most;	/* the range is 0 to this */
	uint16_t *bins; /* owned, in 1/16 s; slot n has those at n % count */
};

/* A slot is at most an hour; a window is at most slots - 1 slots. */
void histogram_window_init(struct histogram_window *window, uint64_t slot_us,
	size_t slots);
void histogram_window_fini(
	struct histogram_window *window); /* NULL and zeroed are fine */

/* Removes all data, when the clock restarts. */
void histogram_window_clear(struct histogram_window *window);

/* Adds a value of 0 to most that was valid from from_us to to_us. Ignores NAN
 * and times before the oldest slot. A new range removes the data of the old
 * one. */
void histogram_window_add(struct histogram_window *window, uint64_t from_us,
	uint64_t to_us, double value, double most);

/* Adds the data of a window with the same slots, if the range is the same. */
void histogram_window_merge(struct histogram_window *window,
	const struct histogram_window *other);

/* The value that the rate did not exceed for this share (0 to 1) of the time
 * from now_us - stretch_us to now_us; NAN without data. */
double histogram_window_read(const struct histogram_window *window,
	uint64_t now_us, uint64_t stretch_us, double share);
