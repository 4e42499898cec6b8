/* The CPU usage of one VM over time: mean and variance.
 *
 * Usage belongs to the VM's identity (namespace/name), so it outlives restarts
 * and migrations. Pure. */
#pragma once

/* The time constant with which older use fades: a working day. A quiet quarter
 * of an hour does not make a VM look small, and a VM with a new job shows its
 * new use by the next day. */
#define USAGE_MEMORY_S 28800.0

/* The time constant of recent demand. Beside the average of about this time and
 * that of the working day, the last five minutes predict nothing. */
#define USAGE_RECENT_S 2700.0

/* Zeroed: never observed. */
struct usage {
	double seconds; /* of observation, faded */
	double mean_cores;
	double square_cores; /* mean of the squares */
	/* The demand of the last USAGE_RECENT_S, and the time over which it was
	 * observed, not faded and at most that long. */
	double recent_cores, recent_seconds;
};

/* Adds `seconds` of observation with a mean of `cores`. Negative and non-finite
 * values are ignored. */
void usage_add(struct usage *usage, double cores, double seconds);

/* Adds `seconds` with a mean demand of `cores` to the recent demand. It starts
 * as the plain mean of what was observed. */
void usage_add_recent(struct usage *usage, double cores, double seconds);

/* The variance over time, in cores squared. */
double usage_variance(const struct usage *usage);
