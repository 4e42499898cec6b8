/* The launcher pods of each VMI that are on a node. Pods are borrowed.
 *
 * A pod's label names the UID of its VMI, and the pod's author writes it: a VMI
 * is known by its namespace and its UID, and a pod of another namespace is none
 * of its pods. */
#pragma once

#include "lib/map.h"
#include "scheduler/objects/pod.h"

/* Zeroed: none. */
struct vm_index {
	struct map by_vmi; /* namespace/UID of a VMI -> struct vm_pods */
};

void vm_index_fini(struct vm_index *index);

/* Pods that are no launcher, temporary pods and copies are left out. */
void vm_index_add(struct vm_index *index, const struct pod *pod);
void vm_index_remove(struct vm_index *index, const struct pod *pod);

/* The pods of a VMI, from i = 0 on, in no order. NULL: no more. */
const struct pod *vm_index_pod(const struct vm_index *index,
	const char *namespace, const char *vmi_uid, size_t i);

/* The pod in which the VM of a migration's target pod runs: of the same VMI and
 * namespace, running, and neither a target nor being deleted. NULL: none. */
const struct pod *vm_index_source(const struct vm_index *index,
	const struct pod *target);
