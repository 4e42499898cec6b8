#include "aggregator/series/histogram_window.h"

#include "lib/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An hour in these units fits in 16 bits. */
enum { UNITS_PER_S = 16, SLOT_MAX_S = 3600 };

void histogram_window_init(struct histogram_window *window, uint64_t slot_us,
	size_t slots)
{
	assert(slot_us > 0 && slot_us <= SLOT_MAX_S * UINT64_C(1000000) &&
		slots > 1);
	*window = (struct histogram_window){
		.ring = { .slot_us = slot_us, .count = slots },
		.bins = xcalloc(slots,
			HISTOGRAM_WINDOW_BINS * sizeof(uint16_t)),
	};
}

void histogram_window_fini(struct histogram_window *window)
{
	if (window != NULL) {
		free(window->bins);
		*window = (struct histogram_window){ 0 };
	}
}

void histogram_window_clear(struct histogram_window *window)
{
	window->ring.newest = 0;
	memset(window->bins, 0,
		window->ring.count * HISTOGRAM_WINDOW_BINS *
			sizeof(*window->bins));
}

static uint16_t *bins_of(const struct histogram_window *window, uint64_t slot)
{
	return &window->bins[slot % window->ring.count * HISTOGRAM_WINDOW_BINS];
}

static void advance(struct histogram_window *window, uint64_t slot)
{
	uint64_t steps = slot_ring_advance(&window->ring, slot);

	for (uint64_t i = 0; i < steps; i++) {
		memset(bins_of(window, slot - i), 0,
			HISTOGRAM_WINDOW_BINS * sizeof(*window->bins));
	}
}

static void add_to_bin(uint16_t *bin, uint64_t us)
{
	uint64_t units = (us * UNITS_PER_S + 500000) / 1000000;
	uint64_t sum = *bin + units;

	*bin = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
}

static size_t bin_of(double value, double most)
{
	double at = value / most * HISTOGRAM_WINDOW_BINS;

	if (at < 0) {
		return 0;
	}
	return at < HISTOGRAM_WINDOW_BINS ? (size_t)at
					  : HISTOGRAM_WINDOW_BINS - 1;
}

void histogram_window_add(struct histogram_window *window, uint64_t from_us,
	uint64_t to_us, double value, double most)
{
	uint64_t last;

	if (!isfinite(value / most) || to_us <= from_us) {
		return;
	}
	if (most < window->most || most > window->most) {
		histogram_window_clear(window);
		window->most = most;
	}
	last = (to_us - 1) / window->ring.slot_us;
	advance(window, last);
	for (uint64_t slot = slot_ring_find(&window->ring, from_us);
		slot <= last; slot++) {
		add_to_bin(&bins_of(window, slot)[bin_of(value, most)],
			slot_ring_overlap_us(&window->ring, slot, from_us,
				to_us));
	}
}

static void merge_slot(uint16_t *to, const uint16_t *from)
{
	for (size_t i = 0; i < HISTOGRAM_WINDOW_BINS; i++) {
		unsigned sum = (unsigned)to[i] + from[i];

		to[i] = sum > UINT16_MAX ? UINT16_MAX : (uint16_t)sum;
	}
}

void histogram_window_merge(struct histogram_window *window,
	const struct histogram_window *other)
{
	assert(window->ring.slot_us == other->ring.slot_us &&
		window->ring.count == other->ring.count);
	if (other->most <= 0) {
		return;
	}
	if (window->most <= 0) {
		window->most = other->most;
	}
	if (window->most < other->most || window->most > other->most) {
		return;
	}
	advance(window, other->ring.newest);
	for (uint64_t slot = slot_ring_oldest(&other->ring);
		slot <= other->ring.newest; slot++) {
		if (slot >= slot_ring_oldest(&window->ring)) {
			merge_slot(bins_of(window, slot), bins_of(other, slot));
		}
	}
}

static void add_bins(uint32_t *sums, const uint16_t *bins)
{
	for (size_t i = 0; i < HISTOGRAM_WINDOW_BINS; i++) {
		sums[i] += bins[i];
	}
}

/* Sums the slots by bin; returns the sum of all bins. Whole slots are summed in
 * integers; the first one may count in part. */
static double sum_bins(double *sums, const struct histogram_window *window,
	uint64_t from_us)
{
	uint64_t first = slot_ring_find(&window->ring, from_us);
	uint32_t whole[HISTOGRAM_WINDOW_BINS] = { 0 };
	const uint16_t *cut = NULL;
	double inside = 0, all = 0;

	if (first * window->ring.slot_us < from_us &&
		first <= window->ring.newest) {
		inside = 1 -
			(double)(from_us - first * window->ring.slot_us) /
				(double)window->ring.slot_us;
		cut = bins_of(window, first);
		first++;
	}
	for (uint64_t slot = first; slot <= window->ring.newest; slot++) {
		add_bins(whole, bins_of(window, slot));
	}
	for (size_t i = 0; i < HISTOGRAM_WINDOW_BINS; i++) {
		sums[i] = whole[i] + (cut == NULL ? 0 : inside * cut[i]);
		all += sums[i];
	}
	return all;
}

double histogram_window_read(const struct histogram_window *window,
	uint64_t now_us, uint64_t stretch_us, double share)
{
	double sums[HISTOGRAM_WINDOW_BINS];
	double left = share *
		sum_bins(sums, window,
			now_us > stretch_us ? now_us - stretch_us : 0);
	size_t last = 0;

	for (size_t i = 0; i < HISTOGRAM_WINDOW_BINS; i++) {
		if (sums[i] <= 0) {
			continue;
		}
		last = i + 1;
		if (left <= sums[i]) {
			return ((double)i + left / sums[i]) * window->most /
				HISTOGRAM_WINDOW_BINS;
		}
		left -= sums[i];
	}
	/* Rounding may leave a rest, which belongs to the highest bin. */
	return last == 0 ? (double)NAN
			 : (double)last * window->most / HISTOGRAM_WINDOW_BINS;
}
