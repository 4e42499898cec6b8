/* Mean and deviation of a rate over the last stretch of time, in bounded
 * memory.
 *
 * Time is cut into slots of equal width; each keeps weight, mean and sum of
 * squared deviations of what fell into it (Chan's merge, which does not cancel
 * on large values as a sum of squares does). A rate weighs as long as it
 * lasted, so uneven intervals do not distort. The slot at the far edge of a
 * window counts by the part of it that is inside: the error is at most that
 * slot's own variation. Pure; time is whatever clock the caller keeps to. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct window_slot {
	float weight_s;
	float mean;
	float squares; /* sum of weight * (value - mean)^2 */
};

struct window {
	uint64_t slot_us;
	uint64_t newest; /* number of the newest slot: time / slot_us */
	size_t count;
	struct window_slot *slots; /* owned; slot n is at n % count */
};

/* NAN where nothing is known of the stretch. */
struct window_figures {
	double mean, stdev;
};

/* Serves stretches up to slots - 1 slots long. */
void window_init(struct window *window, uint64_t slot_us, size_t slots);
void window_fini(struct window *window); /* NULL and zeroed are fine */

/* Forgets everything: the clock started anew. */
void window_clear(struct window *window);

/* value held from from_us to to_us. It is placed by its time, whatever order
 * it comes in; what is older than the slots is dropped. NAN is nothing. */
void window_add(struct window *window, uint64_t from_us, uint64_t to_us,
	double value);

/* Adds what another of the same slots counted, which must not be counted
 * here. */
void window_merge(struct window *window, const struct window *other);

/* Of the stretch that ends at now_us, which is not before the newest rate. */
struct window_figures window_read(const struct window *window, uint64_t now_us,
	uint64_t stretch_us);

/* The mean alone, for half of the work. */
double window_mean(const struct window *window, uint64_t now_us,
	uint64_t stretch_us);
