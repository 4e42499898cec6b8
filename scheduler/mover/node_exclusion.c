#include "scheduler/mover/node_exclusion.h"

const char *node_exclusion(const struct node *node,
	const struct kubevirt_node *work, int64_t now_us)
{
	if (!node_metrics_is_fresh(&node->metrics, now_us)) {
		return "has no fresh data";
	}
	return node_exclusion_by_work(node, work);
}

const char *node_exclusion_by_work(const struct node *node,
	const struct kubevirt_node *work)
{
	if (node->is_unschedulable) {
		return "is cordoned";
	}
	if (work->is_evicting) {
		return "has a VM that is being evicted";
	}
	if (work->foreign_in > 0 || work->foreign_out > 0) {
		return "has a migration that somebody else ordered";
	}
	/* Before the handoff only the pod tells where somebody else's migration
	 * goes. Ours names its host. */
	if (node->vms.arriving_count > work->in) {
		return "has a VM on its way to it that somebody else moves";
	}
	return NULL;
}
