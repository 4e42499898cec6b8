/* A pod on a node as if it were to be scheduled again: the pod without its
 * node, and the cluster without the pod.
 *
 * The cluster is the scheduler's own but for the pod's node, which is a copy
 * from which the pod, and what its VM was measured to use, are taken away.
 * Nothing of the original changes. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/objects/pod.h"

struct rescheduled {
	struct cluster cluster;		   /* borrows but for the next three */
	struct node *node;		   /* owned; the copy */
	struct node **nodes;		   /* owned */
	struct pod_on_node *affinity_pods; /* owned */
	struct pod *shared;		   /* owned */
	struct pod pod; /* as it would be scheduled; borrows of shared */
	struct labels selector; /* owned slots */
};

/* pod counts on this node of the cache, and was read with POD_UNSCHEDULED. The
 * cache outlives it and does not change meanwhile. */
void rescheduled_init(struct rescheduled *rescheduled,
	const struct cache *cache, const struct pod *pod,
	const struct node *node);
void rescheduled_fini(struct rescheduled *rescheduled); /* zeroed is fine */
