/* The windows of one node: means, deviations and percentiles of its figures
 * over the last seconds to day.
 *
 * They run on the agent's monotonic clock: network delays do not shift it, and
 * it starts anew with the counters. Pure. */
#pragma once

#include "aggregator/series/rates.h"
#include "aggregator/series/rollup.h"
#include "aggregator/series/histogram_window.h"
#include "aggregator/series/window.h"

struct node_windows {
	struct window cores_fast, cores_middle, cores_slow;
	struct window pressure, memory_used;
	struct sketch cores_hour, cores_day;
};

void node_windows_init(struct node_windows *windows);
void node_windows_fini(struct node_windows *windows);

/* Forgets everything: the clock started anew. */
void node_windows_clear(struct node_windows *windows);

/* Adds the interval between two reports. */
void node_windows_add(struct node_windows *windows, const struct report *before,
	const struct report *after, const struct node_rates *rates);

/* Adds a minute that began at_us, for the percentile of a day: the time that is
 * known of it as if it were in one piece. */
void node_windows_add_minute(struct node_windows *windows, uint64_t at_us,
	const struct rollup_row *minute, double cores);

/* Adds what others counted, which must not be counted here. */
void node_windows_merge(struct node_windows *windows,
	const struct node_windows *others);

/* Of the stretches that end at now_us. */
void node_windows_fill(struct node_load *out,
	const struct node_windows *windows, uint64_t now_us);
