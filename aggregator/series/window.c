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
		.slot_us = slot_us,
		.count = slots,
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
	window->newest = 0;
	memset(window->slots, 0, window->count * sizeof(*window->slots));
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

static uint64_t oldest_slot(const struct window *window)
{
	return window->newest < window->count
		? 0
		: window->newest - window->count + 1;
}

static void advance(struct window *window, uint64_t to_slot)
{
	uint64_t steps;

	if (to_slot <= window->newest) {
		return;
	}
	steps = to_slot - window->newest;
	if (steps > window->count) {
		steps = window->count;
	}
	for (uint64_t i = 0; i < steps; i++) {
		window->slots[(to_slot - i) % window->count] =
			(struct window_slot){ 0 };
	}
	window->newest = to_slot;
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
	uint64_t first, last;

	if (!isfinite(value) || to_us <= from_us) {
		return;
	}
	last = (to_us - 1) / window->slot_us;
	advance(window, last);
	first = from_us / window->slot_us;
	if (first < oldest_slot(window)) {
		first = oldest_slot(window);
	}
	for (uint64_t slot = first; slot <= last; slot++) {
		uint64_t start = slot * window->slot_us;
		uint64_t end = start + window->slot_us;

		start = start < from_us ? from_us : start;
		end = end > to_us ? to_us : end;
		add_to_slot(&window->slots[slot % window->count],
			(double)(end - start) / 1e6, value);
	}
}

void window_merge(struct window *window, const struct window *other)
{
	assert(window->slot_us == other->slot_us &&
		window->count == other->count);
	advance(window, other->newest);
	for (uint64_t slot = oldest_slot(other); slot <= other->newest;
		slot++) {
		struct window_slot *to = &window->slots[slot % window->count];
		struct sums sums = sums_of(to);

		if (slot < oldest_slot(window)) {
			continue;
		}
		merge(&sums, sums_of(&other->slots[slot % other->count]));
		*to = (struct window_slot){ (float)sums.weight,
			(float)sums.mean, (float)sums.squares };
	}
}

/* Slots of a stretch, oldest first. */
struct stretch {
	size_t at, count; /* the first one's place in window.slots */
	double inside;	  /* the part of the first one that counts */
};

static struct stretch find_stretch(const struct window *window,
	uint64_t from_us)
{
	uint64_t first = from_us / window->slot_us;
	struct stretch stretch = { .inside = 1 };

	if (first < oldest_slot(window)) {
		first = oldest_slot(window);
	}
	if (first <= window->newest) {
		uint64_t start = first * window->slot_us;

		stretch.at = (size_t)(first % window->count);
		stretch.count = (size_t)(window->newest - first + 1);
		if (start < from_us) {
			stretch.inside = 1 -
				(double)(from_us - start) /
					(double)window->slot_us;
		}
	}
	return stretch;
}

static const struct window_slot *slot_after(const struct window *window,
	const struct window_slot *slot)
{
	return slot + 1 < window->slots + window->count ? slot + 1
							: window->slots;
}

/* The weight and the mean of all slots; NAN if they weigh nothing. */
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

/* First the mean, then what strays from it: as exact as merging the slots, and
 * without a division for each. Snapshots read some hundred slots a node. */
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
