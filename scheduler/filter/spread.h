/* Topology spread constraints: kube-scheduler's PodTopologySpread.
 *
 * Counts running pods of the same namespace that a constraint selects, by the
 * domains of the nodes that play a part; those that are being deleted do not
 * count. Constraints that kube-scheduler makes up by default for pods of a
 * Service or a ReplicaSet are not made up here. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/topology_counts.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is counted for one constraint. */
struct spread_count {
	const struct spread_rule *rule; /* borrowed */
	struct pairs domains;
	int64_t least;	     /* of the domains; 0 below minDomains */
	int64_t selects_pod; /* 1: the pod to place counts too; else 0 */
	double weight;	     /* of a soft one: ln(domains + 2) */
};

/* A zeroed one has nothing to say. */
struct spread {
	const struct pod *pod;	     /* borrowed */
	struct spread_count *counts; /* owned; in the pod's order */
	size_t count, capacity;
	size_t hard_count, soft_count;
};

enum spread_verdict {
	SPREAD_FITS,
	SPREAD_SKEWED,
	SPREAD_NO_LABEL, /* the node is in no domain */
};

/* Counts what the filter needs. */
void spread_prepare(struct spread *spread, const struct pod *pod,
	const struct cluster *cluster);
void spread_fini(struct spread *spread); /* zeroed is fine */

/* Counts one more pod on a node for the hard constraints, or again not. */
void spread_count_pod(struct spread *spread, const struct pod *pod,
	const struct node *node, int sign);

enum spread_verdict spread_filter(const struct spread *spread,
	const struct node *node);

/* The soft constraints look at the domains of feasible nodes alone: after
 * spread_prepare() one call for each such node, then count. Then spread_crowd()
 * may be asked. */
void spread_soft_note(struct spread *spread, const struct node *node);
void spread_soft_count(struct spread *spread, const struct cluster *cluster);

/* How crowded the node's domains are: kube-scheduler's raw score, less is
 * better. -1: the node lacks a domain and is scored 0. */
int64_t spread_crowd(const struct spread *spread, const struct node *node);
