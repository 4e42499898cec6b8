#include "scheduler/mover/node_exclusion.h"

static const char is_evicting[] = "has a VM that is being evicted";
static const char is_foreign[] = "has a migration that somebody else ordered";

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
		return is_evicting;
	}
	if (work->foreign_in > 0 || work->foreign_out > 0) {
		return is_foreign;
	}
	return NULL;
}

void node_exclusion_name(struct buffer *out, const char *exclusion,
	const struct kubevirt_node *work)
{
	const struct others_work *by = &work->work;

	if ((exclusion != is_evicting && exclusion != is_foreign) ||
		by->namespace == NULL) {
		return;
	}
	if (*by->migration != '\0') {
		buffer_printf(out, ": the migration %s/%s of the VM %s",
			by->namespace, by->migration, by->vm);
	} else {
		buffer_printf(out, ": the VM %s/%s", by->namespace, by->vm);
	}
}
