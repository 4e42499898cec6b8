/* The CPU usage of one VM over time: mean and variance.
 *
 * Usage belongs to the VM's identity (namespace/name), so it outlives restarts
 * and migrations. Pure. */
#pragma once

/* The time constant with which older use fades: a working day. A quiet quarter
 * of an hour does not make a VM look small, and a VM with a new job shows its
 * new use by the next day. */
#define USAGE_MEMORY_S 28800.0

/* Zeroed: never observed. */
struct usage {
	double seconds; /* of observation, faded */
	double mean_cores;
	double square_cores; /* mean of the squares */
};

/* Adds `seconds` of observation with a mean of `cores`. Negative and non-finite
 * values are ignored. */
void usage_add(struct usage *usage, double cores, double seconds);

/* The variance over time, in cores squared. */
double usage_variance(const struct usage *usage);
