/* The nodes on which a VM failed to start, or to which its migration failed.
 *
 * Each pair of a VM and a node has a wait that doubles with each failure in a
 * row. Until the wait ends, the node loses most of its score for this VM, and
 * moves do not choose it. A success clears the wait. Bounded: the oldest pairs
 * of a VM, and of all VMs, are forgotten first. VMs are named by
 * namespace/name, because KubeVirt gives a VM that restarts a new UID. Pure. */
#pragma once

#include "lib/map.h"
#include "scheduler/cluster/shared_map.h"

#include <stdbool.h>
#include <stdint.h>

/* KubeVirt itself retries a start after 10 s to 5 min. */
#define VM_FAILURES_WAIT_US INT64_C(300000000)
#define VM_FAILURES_WAIT_MAX_US INT64_C(21600000000)

/* Reports of one failure by several watches come within this time. */
#define VM_FAILURES_ONCE_US INT64_C(5000000)

enum { VM_FAILURES_NODES_MAX = 16, VM_FAILURES_VMS_MAX = 4096 };

struct vm_failed_nodes;

/* Zeroed: none. */
struct vm_failures {
	struct map by_vm; /* "namespace/name" -> struct vm_failed_nodes */
};

/* How copies have the values of by_vm: each has its own. */
extern const struct shared_values vm_failures_values;

void vm_failures_fini(struct vm_failures *failures);
/* The VM failed on the node. Within VM_FAILURES_ONCE_US of the last failure,
 * nothing changes. A row whose wait ended VM_FAILURES_WAIT_MAX_US ago is
 * forgotten. Without the name of a VM or a node, nothing changes. */
void vm_failures_add(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node, int64_t now_us);
/* As read from the records of an earlier leader. A longer wait stays. */
void vm_failures_restore(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node, unsigned in_a_row, int64_t until_us);
void vm_failures_succeeded(struct vm_failures *failures, const char *namespace,
	const char *vm, const char *node);
/* The wait after this many failures in a row. */
int64_t vm_failures_wait(unsigned in_a_row);
/* For decisions over many nodes: the nodes of one VM; NULL: none. Valid until
 * the next change. NULL names are fine. */
const struct vm_failed_nodes *vm_failures_of(const struct vm_failures *failures,
	const char *namespace, const char *vm);
int64_t vm_failures_node_until(const struct vm_failed_nodes *nodes,
	const char *node);
