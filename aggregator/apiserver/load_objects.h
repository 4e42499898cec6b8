/* NodeLoad and VmLoad: the load of a node and of a VM as objects of the API. */
#pragma once

#include "aggregator/apiserver/api_model.h"
#include "aggregator/live/live.h"

enum { VM_OBJECT_PODS = 8 }; /* a VM has two pods while it moves */

struct kvm_object {
	const char *state, *detail;
};

struct node_object {
	uint64_t timestamp_us;
	const char *state;
	double age_seconds;
	const char *hottest; /* NULL: no figure is known */
	double heat;
	uint64_t vm_count;
	struct node_load load;
	struct api_model_list hugepages;
	struct kvm_object kvm;
};

struct vm_pod_object {
	const char *node_name;
	const char *state;
	double age_seconds;
	struct vm_load load; /* without names */
};

struct vm_object {
	uint64_t timestamp_us;
	const char *node_name; /* the source's while the VM moves */
	const char *state;
	double age_seconds;
	struct vm_load load;	  /* sums, and the largest shares */
	uint64_t reachable_nodes; /* REPORT_UNKNOWN: not known */
	struct vm_pod_object pods[VM_OBJECT_PODS];
	struct api_model_list pod_list;
};

extern const struct api_model node_model, vm_model;

/* The resource of a node that is the hottest. */
struct heat {
	const char *resource; /* "cpu", "memory", "io", "kvm"; NULL: unknown */
	double share;	      /* 0 to 1; NAN: unknown */
};

/* The largest of
 * - cpu: CPUs in use, mean of 10 s, of all CPUs; or the contention of the VMs;
 * - memory: MemTotal less MemAvailable, of MemTotal; or the share of a minute
 *   in which all tasks waited for memory;
 * - io: the share of a minute in which all tasks waited for I/O;
 * - kvm: 1 if no VM can start. */
struct heat heat_of(const struct node_load *load);

/* The age is relative to now_us, the time to wall_us. The object borrows from
 * the node; release it with node_object_fini(). */
void node_object_fill(struct node_object *out, const struct live_node *node,
	uint64_t now_us, uint64_t wall_us);
void node_object_fini(struct node_object *object);

/* Adds a pod to a zeroed object: the source first. i is its index in the
 * report of its node. Ignores a pod beyond VM_OBJECT_PODS. */
void vm_object_add(struct vm_object *object, const struct live_node *node,
	size_t i, uint64_t now_us);

/* After the last pod, and before reachable_nodes is set. */
void vm_object_end(struct vm_object *object, uint64_t wall_us);

/* "Fresh", "Stale", "Lost". */
const char *load_state_word(enum load_state state);
