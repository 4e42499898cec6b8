#include "aggregator/series/histogram_window.h"

#include "lib/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An hour in these fits 16 bits. */
enum { UNITS_PER_S = 16, SLOT_MAX_S = 3600 };

void sketch_init(struct sketch *sketch, uint64_t slot_us, size_t slots)
{
	assert(slot_us > 0 && slot_us <= SLOT_MAX_S * UINT64_C(1000000) &&
		slots > 1);
	*sketch = (struct sketch){
		.slot_us = slot_us,
		.count = slots,
		.bins = xcalloc(slots, SKETCH_BINS * sizeof(uint16_t)),
	};
}

void sketch_fini(struct sketch *sketch)
{
	if (sketch != NULL) {
		free(sketch->bins);
		*sketch = (struct sketch){ 0 };
	}
}

void sketch_clear(struct sketch *sketch)
{
	sketch->newest = 0;
	memset(sketch->bins, 0,
		sketch->count * SKETCH_BINS * sizeof(*sketch->bins));
}

static uint16_t *bins_of(const struct sketch *sketch, uint64_t slot)
{
	return &sketch->bins[slot % sketch->count * SKETCH_BINS];
}

static uint64_t oldest_slot(const struct sketch *sketch)
{
	return sketch->newest < sketch->count
		? 0
		: sketch->newest - sketch->count + 1;
}

static void advance(struct sketch *sketch, uint64_t to_slot)
{
	uint64_t steps;

	if (to_slot <= sketch->newest) {
		return;
	}
	steps = to_slot - sketch->newest;
	steps = steps < sketch->count ? steps : sketch->count;
	for (uint64_t i = 0; i < steps; i++) {
		memset(bins_of(sketch, to_slot - i), 0,
			SKETCH_BINS * sizeof(*sketch->bins));
	}
	sketch->newest = to_slot;
}

static void add_to_bin(uint16_t *bin, uint64_t us)
{
	uint64_t units = (us * UNITS_PER_S + 500000) / 1000000;
	uint64_t sum = *bin + units;

	*bin = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
}

static size_t bin_of(double value, double most)
{
	double at = value / most * SKETCH_BINS;

	if (at < 0) {
		return 0;
	}
	return at < SKETCH_BINS ? (size_t)at : SKETCH_BINS - 1;
}

void sketch_add(struct sketch *sketch, uint64_t from_us, uint64_t to_us,
	double value, double most)
{
	uint64_t first, last;

	if (!isfinite(value / most) || to_us <= from_us) {
		return;
	}
	if (most < sketch->most || most > sketch->most) {
		sketch_clear(sketch);
		sketch->most = most;
	}
	last = (to_us - 1) / sketch->slot_us;
	advance(sketch, last);
	first = from_us / sketch->slot_us;
	if (first < oldest_slot(sketch)) {
		first = oldest_slot(sketch);
	}
	for (uint64_t slot = first; slot <= last; slot++) {
		uint64_t start = slot * sketch->slot_us;
		uint64_t end = start + sketch->slot_us;

		start = start < from_us ? from_us : start;
		end = end > to_us ? to_us : end;
		add_to_bin(&bins_of(sketch, slot)[bin_of(value, most)],
			end - start);
	}
}

static void merge_slot(uint16_t *to, const uint16_t *from)
{
	for (size_t i = 0; i < SKETCH_BINS; i++) {
		unsigned sum = (unsigned)to[i] + from[i];

		to[i] = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
	}
}

void sketch_merge(struct sketch *sketch, const struct sketch *other)
{
	assert(sketch->slot_us == other->slot_us &&
		sketch->count == other->count);
	if (other->most <= 0) {
		return;
	}
	if (sketch->most <= 0) {
		sketch->most = other->most;
	}
	if (sketch->most < other->most || sketch->most > other->most) {
		return;
	}
	advance(sketch, other->newest);
	for (uint64_t slot = oldest_slot(other); slot <= other->newest;
		slot++) {
		if (slot >= oldest_slot(sketch)) {
			merge_slot(bins_of(sketch, slot), bins_of(other, slot));
		}
	}
}

static void add_bins(uint32_t *sums, const uint16_t *bins)
{
	for (size_t i = 0; i < SKETCH_BINS; i++) {
		sums[i] += bins[i];
	}
}

/* Adds the slots of the stretch up bin by bin; returns the sum of all. Whole
 * slots are counted in integers, the cut one as the part that is inside. */
static double sum_bins(double *sums, const struct sketch *sketch,
	uint64_t from_us)
{
	uint64_t first = from_us / sketch->slot_us;
	uint32_t whole[SKETCH_BINS] = { 0 };
	const uint16_t *cut = NULL;
	double inside = 0;
	double all = 0;

	if (first < oldest_slot(sketch)) {
		first = oldest_slot(sketch);
	} else if (first * sketch->slot_us < from_us &&
		first <= sketch->newest) {
		inside = 1 -
			(double)(from_us - first * sketch->slot_us) /
				(double)sketch->slot_us;
		cut = bins_of(sketch, first);
		first++;
	}
	for (uint64_t slot = first; slot <= sketch->newest; slot++) {
		add_bins(whole, bins_of(sketch, slot));
	}
	for (size_t i = 0; i < SKETCH_BINS; i++) {
		sums[i] = whole[i] + (cut == NULL ? 0 : inside * cut[i]);
		all += sums[i];
	}
	return all;
}

double sketch_read(const struct sketch *sketch, uint64_t now_us,
	uint64_t stretch_us, double share)
{
	double sums[SKETCH_BINS];
	double left = share *
		sum_bins(sums, sketch,
			now_us > stretch_us ? now_us - stretch_us : 0);
	size_t last = 0;

	for (size_t i = 0; i < SKETCH_BINS; i++) {
		if (sums[i] <= 0) {
			continue;
		}
		last = i + 1;
		if (left <= sums[i]) {
			return ((double)i + left / sums[i]) * sketch->most /
				SKETCH_BINS;
		}
		left -= sums[i];
	}
	/* What rounding left over belongs to the topmost bin. */
	return last == 0 ? (double)NAN
			 : (double)last * sketch->most / SKETCH_BINS;
}
