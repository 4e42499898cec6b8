/* What is known of a VM's own past: how much CPU it used, and how steadily.
 *
 * Kept by identity (namespace/name), so that it outlives restarts and
 * migrations. Pure. */
#pragma once

/* Older use counts less and less, with this time constant: a working day. Long
 * enough that a quiet quarter of an hour does not make a VM look small, short
 * enough that one whose job changed is known for it the next day. */
#define PROFILE_MEMORY_S 28800.0

/* A zeroed one is a VM nobody has seen. */
struct vm_profile {
	double seconds;	     /* of observation that count, fading */
	double mean_cores;   /* of them */
	double square_cores; /* mean of the squares */
};

/* The VM used so many cores for so many seconds. What is not finite or
 * negative is not taken. */
void profile_add(struct vm_profile *profile, double cores, double seconds);

/* Of its use over time, squared. */
double profile_variance(const struct vm_profile *profile);
