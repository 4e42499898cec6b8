/* What was measured on a node, reduced to the figures decisions use. */
#pragma once

#include "proto/load.h"

#include <stdbool.h>
#include <stdint.h>

/* Figures that are not known are NAN. A zeroed one was never heard of. What
 * real-load reads comes first: see node.h. */
struct measure {
	bool is_known;
	enum kvm_state kvm_state;
	int64_t sample_us;
	int64_t stale_us; /* older than this is stale: max(15 s, 3 intervals) */
	double cores;
	double used_cores; /* see measure_used_cores() */
	double contention, memory_pressure, io_pressure; /* 0 to 1 */
	double memory_total, memory_available;		 /* bytes */
	/* What the policies of others read. */
	double used_cores_latest, used_cores_15m, stdev_cores_15m;
	double used_bytes_15m, stdev_bytes_15m;
};

/* sample_us: when the load's newest sample was taken, on the clock of the
 * caller's now_us. */
void measure_take(struct measure *out, const struct node_load *load,
	int64_t sample_us);

/* The cores a node is taken to use: halfway between mean and maximum of the
 * last 10 s and the last 5 min, so that a load that comes counts at once and
 * one that goes is trusted slowly, plus half the standard deviation over 5
 * min, because of two equal means the restless one leaves less room. A window
 * that is missing is left out; NAN if all are. */
double measure_used_cores(const struct node_load *load);

/* The age at which a node counts as lost. */
#define MEASURE_LOST_US INT64_C(300000000)

/* Not older than stale_us. Inline, as is the next: a decision asks both of
 * thousands of nodes. */
static inline bool measure_is_fresh(const struct measure *measure,
	int64_t now_us)
{
	int64_t age_us = now_us - measure->sample_us;

	return measure->is_known && age_us <= measure->stale_us &&
		age_us <= MEASURE_LOST_US;
}

/* 1 while fresh, then down evenly to 0 when it is lost. 0 if never heard of. */
static inline double measure_trust(const struct measure *measure,
	int64_t now_us)
{
	int64_t age_us = now_us - measure->sample_us;

	if (!measure->is_known || age_us >= MEASURE_LOST_US) {
		return 0;
	}
	if (age_us <= measure->stale_us) {
		return 1;
	}
	return (double)(MEASURE_LOST_US - age_us) /
		(double)(MEASURE_LOST_US - measure->stale_us);
}
