/* The launcher pods of each VMI that are on a node. Pods are borrowed.
 *
 * A pod's label names the UID of its VMI, and the pod's author writes it: a VMI
 * is known by its namespace and its UID, and a pod of another namespace is none
 * of its pods. Whether a pod counts as a VM is for cache/vm_claims.h to say. */
#pragma once

#include "lib/map.h"
#include "scheduler/objects/pod.h"

/* Zeroed: none. */
struct vm_index {
	struct map by_vmi; /* namespace/UID of a VMI -> struct vm_pods */
};

void vm_index_fini(struct vm_index *index);

/* The pods of a VMI, in no order. */
struct vm_pods {
	const struct pod **list; /* owned */
	size_t count, capacity;
};

/* Pods that are no launcher and copies are left out. */
void vm_index_add(struct vm_index *index, const struct pod *pod);
void vm_index_remove(struct vm_index *index, const struct pod *pod);

/* NULL: none. */
const struct vm_pods *vm_index_pods(const struct vm_index *index,
	const char *namespace, const char *vmi_uid);

/* The pod in which the VM of a migration's target pod runs: of the same VMI and
 * namespace, running, and neither a target nor being deleted, nor a temporary
 * pod, nor one that does not count as a VM. NULL: none. */
const struct pod *vm_index_source(const struct vm_index *index,
	const struct pod *target);
