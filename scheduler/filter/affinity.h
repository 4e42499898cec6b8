/* Pod affinity and anti-affinity: kube-scheduler's InterPodAffinity.
 *
 * The pods are counted once per decision: all pods if the incoming pod has
 * terms, else the pods that have terms themselves. A node then costs a look-up
 * per term. Pods that are being deleted count; pods on nodes without a Node
 * object do not. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/topology_counts.h"

#include <stdbool.h>
#include <stdint.h>

/* The weight of an existing pod's required affinity to the incoming pod:
 * kube-scheduler's default hardPodAffinityWeight. */
enum { AFFINITY_HARD_WEIGHT = 1 };

/* Zeroed: no scores. */
struct affinity {
	const struct pod *pod; /* borrowed */
	bool is_skipped;       /* every node fits */
	bool matches_itself;   /* the pod meets its own required affinity */
	struct topology_counts
		existing_anti;	       /* anti-affinity of existing pods */
	struct topology_counts affine; /* pods that match all required terms */
	struct topology_counts anti; /* pods that match an anti-affinity term */
	/* Weights of preferred terms, of the incoming and existing pods. */
	struct topology_counts scores;
};

enum affinity_verdict {
	AFFINITY_FITS,
	AFFINITY_NOT_MET,	/* its required affinity */
	AFFINITY_ANTI,		/* its own anti-affinity */
	AFFINITY_EXISTING_ANTI, /* the anti-affinity of an existing pod */
};

void affinity_prepare(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster);
void affinity_fini(struct affinity *affinity); /* zeroed is fine */

/* Instead of affinity_prepare(), for the filter alone: begins without any pod.
 * The caller counts each pod that may matter with affinity_count_pod(), then
 * settles. There are no scores. */
void affinity_begin(struct affinity *affinity, const struct pod *pod,
	const struct cluster *cluster);
void affinity_settle(struct affinity *affinity);

/* Adds a pod on a node to the counts of the filter, or removes it with sign -1.
 * Skipped affinity stays skipped. */
void affinity_count_pod(struct affinity *affinity,
	const struct cluster *cluster, const struct pod_on_node *existing,
	int sign);

enum affinity_verdict affinity_filter(const struct affinity *affinity,
	const struct node *node);

/* Preferred terms apply; else affinity_score() is 0 for all nodes. */
bool affinity_has_scores(const struct affinity *affinity);

/* kube-scheduler's raw score: the sum of the weights; may be negative. */
int64_t affinity_score(const struct affinity *affinity,
	const struct node *node);
