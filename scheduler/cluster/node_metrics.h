/* The measured figures of a node that decisions use. */
#pragma once

#include "proto/load.h"

#include <stdbool.h>
#include <stdint.h>

/* Unknown figures are NAN. Zeroed: no load was ever received. The members that
 * real-load reads come first: see cluster/node.h. */
struct node_metrics {
	bool is_known;
	enum kvm_state kvm_state;
	int64_t sample_us;
	int64_t stale_us; /* older than this is stale: max(15 s, 3 intervals) */
	double cores;
	double used_cores; /* see node_metrics_used_cores() */
	double contention, memory_pressure, io_pressure; /* 0 to 1 */
	double memory_total, memory_available;		 /* bytes */
	double used_cores_5m;				 /* mean of 5 min */
	/* For the upstream policies. */
	double used_cores_latest, used_cores_15m, stdev_cores_15m;
	double used_bytes_15m, stdev_bytes_15m;
	/* For rebalance/pressure.h, over the last minute. */
	double memory_pressure_full, io_pressure_full; /* 0 to 1 */
	double swap_in_bytes;			       /* a second */
};

/* sample_us: the time of the load's newest sample, on the clock of the caller's
 * now_us. */
void node_metrics_set(struct node_metrics *out, const struct node_load *load,
	int64_t sample_us);

/* The cores that count as used: halfway between mean and maximum of the last
 * 10 s and the last 5 min, so that a rising load counts at once and a falling
 * load counts slowly; plus half the standard deviation over 5 min, because a
 * varying load leaves less headroom. Missing windows are left out; NAN: all are
 * missing. */
double node_metrics_used_cores(const struct node_load *load);

/* At this age a load has no trust left. */
#define NODE_METRICS_LOST_US INT64_C(300000000)

/* Not older than stale_us. Inline, as is the next function: a decision calls
 * both for thousands of nodes. */
static inline bool node_metrics_is_fresh(const struct node_metrics *metrics,
	int64_t now_us)
{
	int64_t age_us = now_us - metrics->sample_us;

	return metrics->is_known && age_us <= metrics->stale_us &&
		age_us <= NODE_METRICS_LOST_US;
}

/* 1 while fresh, then evenly down to 0 at NODE_METRICS_LOST_US; 0 without a
 * load. */
static inline double node_metrics_trust(const struct node_metrics *metrics,
	int64_t now_us)
{
	int64_t age_us = now_us - metrics->sample_us;

	if (!metrics->is_known || age_us >= NODE_METRICS_LOST_US) {
		return 0;
	}
	if (age_us <= metrics->stale_us) {
		return 1;
	}
	return (double)(NODE_METRICS_LOST_US - age_us) /
		(double)(NODE_METRICS_LOST_US - metrics->stale_us);
}
