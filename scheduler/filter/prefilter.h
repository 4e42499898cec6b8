/* Counts for the filters over the whole cluster, once per decision:
 * kube-scheduler's PreFilter. A pod without constraints needs none, unless
 * existing pods have anti-affinity. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/affinity.h"
#include "scheduler/filter/spread.h"
#include "scheduler/filter/volumes.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero before the first use. */
struct prefilter {
	const struct pod *pod; /* borrowed, as is the cluster */
	const struct cluster *cluster;
	/* The reason why no node is feasible; NULL: nodes differ. Borrowed
	 * until the next prefilter_run(). */
	const char *refusal;
	bool is_pinned;	  /* required node affinity names the nodes */
	bool is_named;	  /* spec.nodeName names the node; 1.37 */
	bool is_plain;	  /* the filters below are skipped */
	uint8_t features; /* that the node must declare */
	bool is_costly;	  /* refused: see filter/constraint_cost.h */
	struct affinity affinity;
	struct spread spread;
	struct volumes volumes;
};

void prefilter_run(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster);

/* The same for filter_empty_node() alone: without the counts, at a cost that
 * does not grow with the cluster. */
void prefilter_run_alone(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster);

/* The names of nodes in the pod exclude this node, before any filter. */
bool prefilter_pins_other(const struct prefilter *prefilter,
	const struct node *node);
/* The plugins that do so: "[NodeAffinity]". */
const char *prefilter_pinning_plugins(const struct prefilter *prefilter);

void prefilter_fini(struct prefilter *prefilter); /* zeroed is fine */
