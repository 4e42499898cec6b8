/* kube-scheduler's two resource plugins, whole numbers as upstream's.
 *
 * LeastAllocated is the same in all releases. BalancedAllocation changed in
 * 1.22 and again in 1.36; kube-scheduler-1.21 is the one that Harvester's
 * published decisions were made with. Sources: pkg/scheduler/framework/plugins/
 * noderesources/{least_allocated,balanced_allocation}.go. */
#pragma once

#include "scheduler/score/policy.h"

/* Terms LeastAllocated and BalancedAllocation; the total is their mean, or the
 * first alone for a pod that requests neither CPU nor memory: 1.36 skips the
 * second then. */
void policy_kube_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_kube_1_21_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
