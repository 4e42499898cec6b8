/* One decision: which node does this pod go to, and why?
 *
 * Pure; the same code answers the cluster and `score --in`. A decision is
 * reused from pod to pod, so the hot path allocates nothing, and it formats
 * nothing until somebody asks. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/filter.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/score.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIDE_BEST = 10 };

struct verdict {
	uint64_t reasons; /* see filter.h; 0: feasible */
	double score;	  /* of feasible nodes */
};

struct candidate {
	const struct node *node; /* borrowed */
	struct score score;
};

/* Borrows pod and cluster until the next decide() or decision_fini(). */
struct decision {
	const struct policy *policy; /* the caller's; NULL: real-load */
	const struct pod *pod;
	const struct cluster *cluster;
	struct node *const *nodes; /* the cluster's */
	struct prefilter prefilter;
	struct preferred preferred;
	struct verdict *verdicts; /* owned; one per node, in their order */
	size_t node_count, capacity;
	size_t feasible_count;
	size_t counts[REASONS_MAX]; /* nodes per reason */
	struct score_context context;
	/* Best first; equal scores by name. best[0] is chosen. */
	struct candidate best[DECIDE_BEST];
	size_t best_count;
};

/* A zeroed struct decision is ready. pod was read with POD_TO_PLACE. */
void decide(struct decision *decision, const struct pod *pod,
	const struct cluster *cluster, const struct filter_options *options,
	int64_t now_us);
/* What this pod's scores of all nodes rest on at this moment, but for wishes.
 * pod and policy are the caller's, and there as long as the context; NULL:
 * real-load. */
void decide_context(struct score_context *out, const struct pod *pod,
	const struct cluster *cluster, const struct policy *policy,
	int64_t now_us);
void decision_fini(struct decision *decision); /* NULL, zeroed: fine */

const struct node *decision_chosen(const struct decision *decision); /* NULL */

/* What is to be done about the pod's volumes on the chosen node. Before the
 * cluster changes. */
void decision_plan(struct decision *decision, struct volume_plan *out);

/* Appends why no node was chosen, as kube-scheduler says it:
 * "0/3 nodes are available: 1 Insufficient memory, 2 node(s) had untolerated
 * taint(s)." For pods above priority 0 it adds that nothing is preempted. */
void decision_message(struct buffer *out, const struct decision *decision);

/* Appends why the chosen node was chosen: "node-1: 31 % CPU used + 4 %
 * expected, no contention; next best node-3, 9 points behind". Nothing if none
 * was. */
void decision_sentence(struct buffer *out, const struct decision *decision);
