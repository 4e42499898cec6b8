/* Topology spread constraints: kube-scheduler's PodTopologySpread.
 *
 * Existing pods of the same namespace that a constraint selects are counted by
 * domain. Pods that are being deleted do not count. kube-scheduler's default
 * constraints for pods of a Service or ReplicaSet are not supported. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/topology_counts.h"

#include <stddef.h>
#include <stdint.h>

/* The counts of one constraint. */
struct spread_count {
	const struct spread_constraint *constraint; /* borrowed */
	struct topology_counts domains;
	int64_t min_match; /* minMatchNum: of all domains; 0 below minDomains */
	int64_t self_match; /* selfMatchNum: 1 if it selects the incoming pod */
	double weight;	    /* of a soft one: ln(domains + 2) */
};

/* Zeroed: no constraints. */
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

/* Counts for the filter. */
void spread_prepare(struct spread *spread, const struct pod *pod,
	const struct cluster *cluster);
/* Without a constraint. */
void spread_clear(struct spread *spread, const struct pod *pod);
void spread_fini(struct spread *spread); /* zeroed is fine */

/* Adds a pod on a node to the counts of the hard constraints, or removes it
 * with sign -1. */
void spread_count_pod(struct spread *spread, const struct pod *pod,
	const struct node *node, int sign);

enum spread_verdict spread_filter(const struct spread *spread,
	const struct node *node);

/* For the soft constraints, after spread_prepare(): add the domains of each
 * feasible node, then count, then score. */
void spread_soft_add_domain(struct spread *spread, const struct node *node);
void spread_soft_count(struct spread *spread, const struct cluster *cluster);

/* kube-scheduler's raw score; less is better. -1: the node lacks a domain and
 * scores 0. */
int64_t spread_soft_score(const struct spread *spread, const struct node *node);
