/* Load of the nodes of a world. */
#pragma once

#include "tests/unit/scheduler/plan/plan_world.h"

/* Cores and GiB are in use on the node; each of its VMs uses 4 cores and 6 GiB
 * of them. */
static inline void world_load(struct world *w, const char *node, double cores,
	double used_gib)
{
	struct node_load load = given_load(cores, used_gib * (1 << 30));
	struct node *at = w->cluster.nodes[world_index(w, node)];
	struct vm_load vms[8];

	load.vms = vms;
	load.vm_count = 0;
	for (size_t i = 0; i < at->pod_count; i++) {
		vms[load.vm_count] = given_vm_load(at->pods[i].pod, 4);
		vms[load.vm_count++].memory_bytes = 6.0 * (1 << 30);
	}
	node_set_load(at, &load, w->input.now_us - 1000000, w->input.now_us);
}
