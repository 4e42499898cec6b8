#include "aggregator/series/window.h"

#include "lib/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void window_init(struct window *window, uint64_t slot_us, size_t slots)
{
	assert(slot_us > 0 && slots > 1);
	*window = (struct window){
		.ring = { .slot_us = slot_us, .count = slots },
		.slots = xcalloc(slots, sizeof(struct window_slot)),
	};
}

void window_fini(struct window *window)
{
	if (window != NULL) {
		free(window->slots);
		*window = (struct window){ 0 };
	}
}

void window_clear(struct window *window)
{
	window->ring.newest = 0;
	memset(window->slots, 0, window->ring.count * sizeof(*window->slots));
}

struct sums {
	double weight, mean, squares;
};

static void merge(struct sums *into, struct sums other)
{
	double weight = into->weight + other.weight;
	double apart = other.mean - into->mean;

	if (other.weight <= 0) {
		return;
	}
	into->mean += apart * other.weight / weight;
	into->squares += other.squares +
		apart * apart * into->weight * other.weight / weight;
	into->weight = weight;
}

static struct sums sums_of(const struct window_slot *slot)
{
	return (struct sums){ (double)slot->weight_s, (double)slot->mean,
		(double)slot->squares };
}

static struct window_slot *slot_at(const struct window *window, uint64_t slot)
{
	return &window->slots[slot % window->ring.count];
}

static void advance(struct window *window, uint64_t slot)
{
	uint64_t steps = slot_ring_advance(&window->ring, slot);

	for (uint64_t i = 0; i < steps; i++) {
		*slot_at(window, slot - i) = (struct window_slot){ 0 };
	}
}

static void add_to_slot(struct window_slot *slot, double weight_s, double value)
{
	struct sums sums = sums_of(slot);

	merge(&sums, (struct sums){ weight_s, value, 0 });
	slot->weight_s = (float)sums.weight;
	slot->mean = (float)sums.mean;
	slot->squares = (float)sums.squares;
}

void window_add(struct window *window, uint64_t from_us, uint64_t to_us,
	double value)
{
	uint64_t last;

	if (!isfinite(value) || to_us <= from_us) {
		return;
	}
	last = (to_us - 1) / window->ring.slot_us;
	advance(window, last);
	for (uint64_t slot = slot_ring_find(&window->ring, from_us);
		slot <= last; slot++) {
		uint64_t us = slot_ring_overlap_us(&window->ring, slot, from_us,
			to_us);

		add_to_slot(slot_at(window, slot), (double)us / 1e6, value);
	}
}

void window_merge(struct window *window, const struct window *other)
{
	assert(window->ring.slot_us == other->ring.slot_us &&
		window->ring.count == other->ring.count);
	advance(window, other->ring.newest);
	for (uint64_t slot = slot_ring_oldest(&other->ring);
		slot <= other->ring.newest; slot++) {
		struct window_slot *to = slot_at(window, slot);
		struct sums sums = sums_of(to);

		if (slot < slot_ring_oldest(&window->ring)) {
			continue;
		}
		merge(&sums, sums_of(slot_at(other, slot)));
		*to = (struct window_slot){ (float)sums.weight,
			(float)sums.mean, (float)sums.squares };
	}
}

/* Slots of a window, oldest first. */
struct stretch {
	size_t at;     /* index of the first one in window.slots */
	size_t count;  /* slots */
	double inside; /* how much of the first one counts, 0 to 1 */
};

static struct stretch find_stretch(const struct window *window,
	uint64_t from_us)
{
	uint64_t first = slot_ring_find(&window->ring, from_us);
	struct stretch stretch = { .inside = 1 };

	if (first <= window->ring.newest) {
		uint64_t start = first * window->ring.slot_us;

		stretch.at = (size_t)(first % window->ring.count);
		stretch.count = (size_t)(window->ring.newest - first + 1);
		if (start < from_us) {
			stretch.inside = 1 -
				(double)(from_us - start) /
					(double)window->ring.slot_us;
		}
	}
	return stretch;
}

static const struct window_slot *slot_after(const struct window *window,
	const struct window_slot *slot)
{
	return slot + 1 < window->slots + window->ring.count ? slot + 1
							     : window->slots;
}

/* The weight and the mean of all slots; the mean is NAN if the weight is 0. */
static double mean_of(double *weight, const struct window *window,
	const struct stretch *stretch)
{
	const struct window_slot *slot = &window->slots[stretch->at];
	double inside = stretch->inside;
	double sum = 0;

	*weight = 0;
	for (size_t i = 0; i < stretch->count; i++) {
		double part = inside * (double)slot->weight_s;

		*weight += part;
		sum += part * (double)slot->mean;
		slot = slot_after(window, slot);
		inside = 1;
	}
	return *weight > 0 ? sum / *weight : (double)NAN;
}

static struct stretch last_stretch(const struct window *window, uint64_t now_us,
	uint64_t stretch_us)
{
	return find_stretch(window,
		now_us > stretch_us ? now_us - stretch_us : 0);
}

double window_mean(const struct window *window, uint64_t now_us,
	uint64_t stretch_us)
{
	struct stretch stretch = last_stretch(window, now_us, stretch_us);
	double weight;

	return mean_of(&weight, window, &stretch);
}

/* Computes the mean first, then the deviation from it: as exact as merging the
 * slots, without a division for each. A snapshot reads some hundred slots a
 * node. */
struct window_figures window_read(const struct window *window, uint64_t now_us,
	uint64_t stretch_us)
{
	struct stretch stretch = last_stretch(window, now_us, stretch_us);
	const struct window_slot *slot = &window->slots[stretch.at];
	double inside = stretch.inside;
	double squares = 0;
	double weight;
	double mean = mean_of(&weight, window, &stretch);

	for (size_t i = 0; i < stretch.count; i++) {
		double apart = (double)slot->mean - mean;

		squares += inside *
			((double)slot->squares +
				(double)slot->weight_s * apart * apart);
		slot = slot_after(window, slot);
		inside = 1;
	}
	return (struct window_figures){ mean, sqrt(squares / weight) };
}
