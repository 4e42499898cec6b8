/* One decision: the node for a pod, and the reason.
 *
 * Pure; the scheduling loop and `score --in` use the same code. A decision is
 * reused from pod to pod, so the hot path does not allocate. Texts are
 * formatted on demand. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/filter/filter.h"
#include "scheduler/objects/pod.h"
#include "scheduler/score/score.h"

#include <stddef.h>
#include <stdint.h>

enum { DECIDE_BEST = 10 };

struct verdict {
	uint64_t reasons; /* see filter/filter.h; 0: feasible */
	/* A feasible node has one. The best are exact; the others are at least
	 * what they would be, and not among the best: see
	 * decision_score_all(). */
	double score;
	bool is_exact;
};

/* Borrows pod and cluster until the next decide() or decision_fini(). */
struct decision {
	const struct policy *policy; /* borrowed; NULL: real-load */
	const struct pod *pod;
	const struct cluster *cluster;
	struct node *const *nodes; /* the cluster's */
	struct prefilter prefilter;
	struct preferences preferences;
	struct verdict *verdicts; /* owned; in the order of nodes */
	size_t node_count, capacity;
	size_t feasible_count;
	size_t counts[REASONS_MAX]; /* nodes per reason */
	struct score_context context;
	/* Best first; equal scores by name. best[0] is chosen. */
	struct candidate best[DECIDE_BEST];
	size_t best_count;
};

/* A zeroed struct decision is ready. pod was read with POD_UNSCHEDULED. */
void decide(struct decision *decision, const struct pod *pod,
	const struct cluster *cluster, const struct filter_options *options,
	int64_t now_us);
/* Sets the context for this pod, without preferences. pod and policy are
 * borrowed as long as the context; policy NULL: real-load. */
void decide_context(struct score_context *out, const struct pod *pod,
	const struct cluster *cluster, const struct policy *policy,
	int64_t now_us);
void decision_fini(struct decision *decision); /* NULL, zeroed: fine */

/* Makes the scores of all feasible nodes exact. */
void decision_score_all(struct decision *decision);

const struct node *decision_chosen(const struct decision *decision); /* NULL */

/* The volumes for the pod's claims on the chosen node. Call this before the
 * cluster changes. */
void decision_plan(struct decision *decision, struct volume_plan *out);

/* Appends the reason why no node was chosen, in kube-scheduler's words:
 * "0/3 nodes are available: 1 Insufficient memory, 2 node(s) had untolerated
 * taint(s)." For pods above priority 0 it adds that nothing is preempted. */
void decision_message(struct buffer *out, const struct decision *decision);

/* Appends the chosen node and the reason: "node-1: 35 % CPU used + 6 % by this
 * VM; CPU free for 4.1 times its usual swing (14 %) against 2.3 times (24 %)
 * on node-3; no contention; 9 points ahead of node-3, mostly CPU (7)". Nothing
 * if no node was chosen. */
void decision_sentence(struct buffer *out, const struct decision *decision);
