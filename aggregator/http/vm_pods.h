/* VM pods as JSON, with their identity, node and latest figures. A VM has two
 * pods while it migrates. A pod that is reported by another node than its own
 * has no identity there. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/json.h"

struct identities;

struct vm_pods_view {
	const struct live *live;
	const struct identities *identities; /* or NULL */
	uint64_t now_us;		     /* ages are relative to it */
};

/* Writes {"namespace","name","vmi_uid","pod_uid","node","age_s","state",
 * figures} for each VM pod of the node into the open array; the first three
 * only if they are known. */
void vm_pods_write_node(struct json *j, const struct vm_pods_view *view,
	const struct live_node *node);

/* The same for each pod of one VM, on any node. */
void vm_pods_write_vm(struct json *j, const struct vm_pods_view *view,
	const char *namespace, const char *name);

/* True: the VM has a pod in the live table, on the pod's own node. */
bool vm_pods_is_running(const struct vm_pods_view *view, const char *namespace,
	const char *name);
