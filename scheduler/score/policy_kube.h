/* kube-scheduler's two resource plugins, in whole numbers as upstream.
 *
 * LeastAllocated is the same in all releases. BalancedAllocation changed in
 * 1.22 and in 1.36. Harvester's published decisions come from
 * kube-scheduler-1.21. Sources: pkg/scheduler/framework/plugins/
 * noderesources/{least_allocated,balanced_allocation}.go. */
#pragma once

#include "scheduler/score/policy.h"

/* Terms LeastAllocated and BalancedAllocation; the total is their mean. 1.36
 * skips BalancedAllocation for a pod that requests neither CPU nor memory. */
void policy_kube_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
void policy_kube_1_21_score(struct score *out, const struct pod *pod,
	const struct node *node, const struct policy *policy);
