/* May a VM stand on a node, whatever room it has there?
 *
 * People change a running VM and the taints of nodes, and other VMs come and
 * go: a VM may then stand where its next pod would not be placed. The filters
 * of a decision tell, asked about the next pod as if the VM ran nowhere: taints
 * that people set (objects/taint.h), nodeSelector and required node affinity,
 * its own required pod affinity and anti-affinity, and spread constraints with
 * DoNotSchedule. These never count: preferences; amounts, ports and volumes;
 * cordons and taints that pass; the anti-affinity of other pods; labels that
 * KubeVirt adds to the selector and changes while VMs run, which are
 * "cpumanager" and those in the domain kubevirt.io.
 *
 * The cost of standing_by_counts() grows with the pods of the cluster. Pure. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/filter/prefilter.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* A bit of enum filter_reason, REASON_TAINT or REASON_AFFINITY; 0: the pod and
 * the node alone forbid nothing. next: read with POD_UNSCHEDULED. */
uint64_t standing_by_rules(const struct pod *next, const struct node *node);

/* standing_by_counts() may forbid something. */
bool standing_needs_counts(const struct pod *next);

/* Zeroed: ready. */
struct standing {
	struct prefilter prefilter;
};

/* running: the pod and the node that the VM would leave. All outlive the use,
 * and no pod comes or goes meanwhile. False: the pod is refused everywhere, so
 * nothing can be said. */
bool standing_prepare(struct standing *standing, const struct cluster *cluster,
	const struct pod *next, const struct pod_on_node *running);

/* REASON_SPREAD, REASON_SPREAD_LABEL, REASON_POD_AFFINITY or
 * REASON_POD_ANTI_AFFINITY as a bit; 0: other pods forbid nothing. */
uint64_t standing_by_counts(const struct standing *standing,
	const struct node *node);

/* "its node selector or node affinity does not admit the node". reasons is not
 * 0. */
const char *standing_text(uint64_t reasons);

void standing_fini(struct standing *standing); /* zeroed is fine */
