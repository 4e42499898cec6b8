/* Pod affinity and anti-affinity: kube-scheduler's InterPodAffinity.
 *
 * Counted once per decision, over all pods where the pod to place has terms,
 * else over those that have terms themselves; a node then costs a look-up per
 * term. Pods on nodes without a Node object do not count, pods that are being
 * deleted do. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/topology_counts.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* Weight of a running pod's required affinity to the pod to place:
 * kube-scheduler's default hardPodAffinityWeight. */
enum { AFFINITY_HARD_WEIGHT = 1 };

/* A zeroed one has nothing to say. */
struct affinity {
	const struct pod *pod; /* borrowed */
	bool is_idle;	       /* every node fits */
	bool matches_itself;   /* the pod meets its own required affinity */
	struct pairs existing; /* domains closed by pods that run */
	struct pairs wanted;   /* pods that meet all required terms */
	struct pairs unwanted; /* pods that an anti-affinity term means */
	/* Weights of preferred terms by domain, from both sides. */
	struct pairs points;
};

enum affinity_verdict {
	AFFINITY_FITS,
	AFFINITY_NOT_MET,  /* required affinity */
	AFFINITY_UNWANTED, /* its own anti-affinity */
	AFFINITY_EXISTING, /* the anti-affinity of a pod that runs */
};

void affinity_prepare(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster);
void affinity_fini(struct affinity *affinity); /* zeroed is fine */

/* Counts one more pod on a node as if it ran there, or again not (sign -1), for
 * what the filter asks. One that was idle stays so. */
void affinity_count_pod(struct affinity *affinity,
	const struct cluster *cluster, const struct resident *resident,
	int sign);

enum affinity_verdict affinity_filter(const struct affinity *affinity,
	const struct node *node);

/* True if preferred terms play a part. Without them affinity_points() is the
 * same for all nodes. */
bool affinity_has_points(const struct affinity *affinity);

/* The sum of the weights of what is preferred there; may be negative. */
int64_t affinity_points(const struct affinity *affinity,
	const struct node *node);
