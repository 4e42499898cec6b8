/* node_copy(). */
#include "lib/memory.h"
#include "scheduler/cluster/node.h"

static void own_labels(struct labels *labels, struct interner *interner)
{
	size_t slots;

	if (labels->shift == 0) {
		return;
	}
	slots = (size_t)(UINT64_C(1) << (32 - labels->shift));
	labels->slots = xmemdup(labels->slots, slots * sizeof(*labels->slots));
	for (size_t i = 0; i < slots; i++) {
		interner_hold_id(interner, labels->slots[i].key);
		interner_hold_id(interner, labels->slots[i].value);
	}
}

static void own_taints(struct taints *taints, struct interner *interner)
{
	taints->list =
		xmemdup(taints->list, taints->count * sizeof(*taints->list));
	for (size_t i = 0; i < taints->count; i++) {
		interner_hold_id(interner, taints->list[i].key);
		interner_hold_id(interner, taints->list[i].value);
	}
}

static void own_scalars(struct node *node)
{
	node->scalars = xmemdup(node->scalars,
		node->scalar_count * sizeof(*node->scalars));
	for (size_t i = 0; i < node->scalar_count; i++) {
		interner_hold_id(node->interner, node->scalars[i].resource);
	}
}

/* The announcements belong to parts that the pods of the copy share. */
static void own_vms(struct node_vms *vms)
{
	vms->list = xmemdup(vms->list, vms->count * sizeof(*vms->list));
	vms->capacity = vms->count;
	vms->kin = kin_sums_copy(&vms->kin);
}

struct node *node_copy(const struct node *node)
{
	struct node *copy = xmemdup(node, sizeof(*node));

	copy->name = xstrdup(node->name);
	interner_hold_id(copy->interner, copy->name_id);
	own_labels(&copy->labels, copy->interner);
	own_taints(&copy->taints, copy->interner);
	own_scalars(copy);
	own_vms(&copy->vms);
	copy->pods = NULL;
	copy->pod_count = 0;
	copy->pod_capacity = 0;
	return copy;
}
