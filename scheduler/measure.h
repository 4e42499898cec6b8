/* What was measured on a node, reduced to the figures decisions use. */
#pragma once

#include "proto/load.h"

#include <stdbool.h>
#include <stdint.h>

/* Figures that are not known are NAN. A zeroed one was never heard of. */
struct measure {
	bool is_known;
	enum kvm_state kvm_state;
	int64_t sample_us;
	int64_t stale_us; /* older than this is stale: max(15 s, 3 intervals) */
	double cores;
	double used_cores; /* see measure_used_cores() */
	/* What the policies of others read. */
	double used_cores_latest, used_cores_15m, stdev_cores_15m;
	double used_bytes_15m, stdev_bytes_15m;
	double contention, memory_pressure, io_pressure; /* 0 to 1 */
	double memory_total, memory_available;		 /* bytes */
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

/* Not older than stale_us. */
bool measure_is_fresh(const struct measure *measure, int64_t now_us);

/* 1 while fresh, then down evenly to 0 at 5 min, the age at which a node
 * counts as lost. 0 if never heard of. */
double measure_trust(const struct measure *measure, int64_t now_us);
