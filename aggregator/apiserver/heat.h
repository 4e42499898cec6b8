/* Which resource of a node is the hottest. Pure. */
#pragma once

#include "proto/load.h"

struct heat {
	const char *resource; /* "cpu", "memory", "io", "kvm"; NULL: unknown */
	double share;	      /* 0 to 1; NAN: unknown */
};

/* The largest of
 * - cpu: CPUs in use, mean of 10 s, of all CPUs; or the contention of the VMs;
 * - memory: MemTotal less MemAvailable, of MemTotal; or the share of a minute
 *   in which all tasks waited for memory;
 * - io: the share of a minute in which all tasks waited for I/O;
 * - kvm: 1 if no VM can start. */
struct heat heat_of(const struct node_load *load);
