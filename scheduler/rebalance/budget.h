/* How many moves may be in flight, and begin within an hour.
 *
 * KubeVirt counts a migration from its target pod on, bound or not, and queues
 * what is above its limits, also evacuations. Moves therefore stay below these
 * limits and leave room for drains, which go first. Pure. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stddef.h>

enum { BUDGET_HOUR_MAX = 1000 };

/* The default of --rebalance-max-per-hour: one for each hundred VMs, but at
 * least five. The rule makes .04 moves a VM-day at a load of 62 % and .09 at
 * 75 %, which is .2 and .4 an hour for each hundred VMs. The default is a
 * multiple of that, so it stops only what is wrong; five are enough to cool one
 * hot node of a small cluster. */
#define BUDGET_HOUR_LEAST 5u
#define BUDGET_VMS_PER_MOVE 100u

struct budget {
	unsigned per_hour;    /* as configured; 0: the default */
	unsigned per_cluster; /* of KubeVirt: parallelMigrationsPerCluster */
	size_t vms;	      /* running ones */
	/* Orders within the last hour. */
	unsigned ordered;
	/* Unfinished migrations of everybody, and those that are not ours. */
	unsigned unfinished, foreign;
};

unsigned budget_per_hour(const struct budget *budget);

/* The unfinished migrations in the cluster below which one more may begin. */
unsigned budget_per_cluster(const struct budget *budget);

/* The same out of a node; out_of_node: parallelOutboundMigrationsPerNode. If
 * that is one, the slot is left to the evacuations that wait for it. */
unsigned budget_out_of_node(unsigned out_of_node, unsigned waiting);

/* One more move may begin. False: appends one sentence why not. */
bool budget_admits(const struct budget *budget, struct buffer *why);
