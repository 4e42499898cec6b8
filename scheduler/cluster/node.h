/* A node as the scheduler sees it: what it offers, what its pods request and
 * what was measured there.
 *
 * The sums are kept as pods come and go, so a decision reads them and nothing
 * else. The caller's now_us, bound_us and sample_us share one clock. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "proto/load.h"
#include "scheduler/objects/labels.h"
#include "scheduler/cluster/node_metrics.h"
#include "scheduler/objects/interner.h"
#include "scheduler/cluster/node_vms.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/taint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An extended resource, hugepages and the like. */
struct node_resource {
	uint32_t resource; /* held */
	int64_t allocatable, requested;
};

/* A pod on the node. */
struct node_guest {
	const struct pod *pod; /* borrowed */
	int64_t bound_us;
};

/* What a decision about a plain VM reads is together, from is_unschedulable up
 * to memory_available in measure: what it reads of thousands of nodes has to
 * come from memory line by line. */
struct node {
	struct names *names; /* borrowed */
	char *name;	     /* owned */
	/* Of its pods; what the policies of others count, see asks.h. */
	int64_t nonzero_milli, nonzero_bytes, limit_milli, limit_bytes;
	struct node_guest *guests; /* owned; in no order */
	size_t guest_count, guest_capacity;
	size_t other_capacity;
	bool has_zone; /* a label that says its zone or region */

	bool is_unschedulable;
	uint32_t name_id; /* held */
	struct labels labels;
	struct taints taints;
	struct node_resource *others; /* owned */
	size_t other_count;
	int64_t pods; /* allocatable, as are the next three */
	int64_t cpu_milli, memory_bytes, ephemeral_bytes;
	int64_t pods_running;
	int64_t cpu_milli_requested, memory_bytes_requested;
	int64_t ephemeral_bytes_requested;
	/* Of its pods that are no VMs: what they request, so far as it can be
	 * meant. What VMs use the model tells. */
	int64_t expected_milli;
	int64_t rejected_us; /* when its kubelet last did; 0: never heard of */
	struct node_vms vms;
	struct measure measure;
};

/* -EBADMSG, -E2BIG: not a node the API server would serve, and why. */
must_check int node_new(struct node **out, struct names *names,
	const struct value *object, struct error *err);
void node_free(struct node *node); /* NULL is fine */

/* Takes over a newer version of the same node and keeps its pods and its load;
 * leaves it as it was on failure, which is as for node_new(). */
must_check int node_update(struct node *node, const struct value *object,
	struct error *err);

/* The pod holds the node's resources from now on. bound_us may be
 * MOMENT_LONG_AGO. Whether the pod counts at all (pod_is_over()) is the
 * caller's business, and so is the pod: it stays until it is removed or the
 * node is freed. */
void node_add_pod(struct node *node, const struct pod *pod, int64_t bound_us);

/* Undoes node_add_pod() with the very same pod. */
void node_remove_pod(struct node *node, const struct pod *pod);

/* The pod's nodeSelector and required node affinity admit the node. */
bool node_is_selected(const struct node *node, const struct pod *pod);

/* Takes the figures; load is not kept. Of the VMs it lists it is learned what
 * they use; a sample from the future counts as one of now. */
void node_set_load(struct node *node, const struct node_load *load,
	int64_t sample_us, int64_t now_us);
void node_forget_load(struct node *node);

/* Cores that are shared: without those that are VMs' own. Inline, as is the
 * next, for decisions. */
static inline double node_shared_cores(const struct node *node)
{
	double cores = node->measure.cores > 0 ? node->measure.cores
					       : (double)node->cpu_milli / 1000;

	return cores - node->vms.dedicated_cores;
}

/* What was measured of their use, see measure_used_cores(); NAN: nothing. */
static inline double node_used_cores(const struct node *node)
{
	double cores = node->measure.used_cores - node->vms.dedicated_used;

	return cores < 0 ? 0 : cores;
}

/* CPU to expect of all that shares the node's cores, and how uncertain that is: what was
 * measured, or that with each VM that was seen replaced by what is expected of
 * it, whichever is more; and those not seen yet on top. Cores, and cores
 * squared. Only with a load. */
void node_expect(const struct node *node, struct model_prior prior,
	int64_t now_us, double *cores, double *variance);
