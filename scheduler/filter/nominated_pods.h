/* Nominated pods: pods of other schedulers that have a status.nominatedNodeName
 * and wait until the pods that they preempt are gone.
 *
 * As in kube-scheduler, a node must be feasible with and without the nominated
 * pods of equal or higher priority, because these may run there or not. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/filter.h"
#include "scheduler/filter/prefilter.h"

#include <stdint.h>

/* filter_node() for both cases. The node is unchanged on return. */
uint64_t nominated_pods_filter(struct prefilter *prefilter, struct node *node,
	const struct filter_options *options, int64_t now_us);
