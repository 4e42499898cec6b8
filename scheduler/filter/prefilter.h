/* What filters must know of the whole cluster before they look at a node:
 * kube-scheduler's PreFilter. Once per decision; nothing to do for a pod
 * without constraints where no pod that runs has anti-affinity. */
#pragma once

#include "scheduler/filter/affinity.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/objects/pod.h"
#include "scheduler/filter/spread.h"
#include "scheduler/filter/volumes.h"

#include <stdbool.h>

/* A zeroed one is ready. */
struct prefilter {
	const struct pod *pod; /* borrowed, as is the cluster */
	const struct cluster *cluster;
	/* Why no node will do, whichever it is; NULL: nodes decide. Borrowed
	 * until the next prefilter_run(). */
	const char *refusal;
	bool is_pinned; /* required node affinity names the nodes */
	bool is_plain;	/* nothing below has anything to ask of a node */
	struct affinity affinity;
	struct spread spread;
	struct volumes volumes;
};

void prefilter_run(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster);
void prefilter_fini(struct prefilter *prefilter); /* zeroed is fine */
