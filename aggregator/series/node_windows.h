/* The windows of one node, from 10 s to a day: means, deviations and
 * percentiles of its figures. Pure.
 *
 * The windows use the agent's monotonic clock: network delays do not shift it,
 * and it restarts with the counters. */
#pragma once

#include "aggregator/series/histogram_window.h"
#include "aggregator/series/rates.h"
#include "aggregator/series/rollup.h"
#include "aggregator/series/window.h"

struct node_windows {
	struct window cores_fast, cores_middle, cores_slow;
	struct window pressure, memory_used;
	struct window memory_full, io_full, swap_in;
	struct histogram_window cores_hour, cores_day;
};

void node_windows_init(struct node_windows *windows);
void node_windows_fini(struct node_windows *windows);

/* Removes all data, when the clock restarts. */
void node_windows_clear(struct node_windows *windows);

/* Adds the interval between two reports. */
void node_windows_add(struct node_windows *windows, const struct report *before,
	const struct report *after, const struct node_rates *rates);

/* Adds a minute that began at at_us to the percentiles of a day, as if its
 * covered time were at its beginning. */
void node_windows_add_minute(struct node_windows *windows, uint64_t at_us,
	const struct rollup_row *minute, double cores);

/* Adds data of others that these windows do not have. */
void node_windows_merge(struct node_windows *windows,
	const struct node_windows *others);

/* Fills in the figures of the windows that end at now_us. */
void node_windows_fill(struct node_load *out,
	const struct node_windows *windows, uint64_t now_us);
