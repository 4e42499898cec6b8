/* Pods of other schedulers that were promised a node but are not bound yet
 * (status.nominatedNodeName), because what is in their way is being removed.
 *
 * A node is good for a pod only if it is with and without those of them whose
 * priority is not below the pod's: they may come, or not. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/filter.h"
#include "scheduler/filter/prefilter.h"

#include <stdint.h>

/* filter_node() for both cases. The node is as before when it returns. */
uint64_t nominees_filter(struct prefilter *prefilter, struct node *node,
	const struct filter_options *options, int64_t now_us);
