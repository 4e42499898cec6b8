/* Percentiles of a rate over the last stretch of time, in fixed memory.
 *
 * Time is cut into slots; each counts how long the rate was in each of
 * SKETCH_BINS equal parts of its range. A percentile is read off the sum, with
 * what is inside a bin taken as evenly spread: its error is at most one bin,
 * 1/128 of the range. The slot at the far edge counts by the part of it that is
 * inside. Two bytes a bin: 25 slots are 6.4 KB. Pure; time is whatever clock
 * the caller keeps to. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SKETCH_BINS = 128 };

struct sketch {
	uint64_t slot_us;
	uint64_t newest; /* number of the newest slot: time / slot_us */
	double most;	 /* the range is 0 to this */
	size_t count;
	uint16_t *bins; /* owned; slot n's at n % count, in 1/16 s */
};

/* Slots are at most an hour long; serves stretches up to slots - 1 slots. */
void sketch_init(struct sketch *sketch, uint64_t slot_us, size_t slots);
void sketch_fini(struct sketch *sketch); /* NULL and zeroed are fine */

/* Forgets everything: the clock started anew. */
void sketch_clear(struct sketch *sketch);

/* value, out of 0 to most, held from from_us to to_us. What is older than the
 * slots is dropped; NAN is nothing. Another range than before forgets what was
 * counted in that one. */
void sketch_add(struct sketch *sketch, uint64_t from_us, uint64_t to_us,
	double value, double most);

/* Adds what another of the same slots counted, if it is of the same range. */
void sketch_merge(struct sketch *sketch, const struct sketch *other);

/* The value that the rate was at or below for this share (0 to 1) of the
 * stretch that ends at now_us; NAN where nothing is known of it. */
double sketch_read(const struct sketch *sketch, uint64_t now_us,
	uint64_t stretch_us, double share);
