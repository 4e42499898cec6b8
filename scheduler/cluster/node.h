/* A node: its allocatable, the requests of its pods, and its measured load.
 *
 * The sums change as pods come and go, and a decision reads only the sums. The
 * caller's now_us, bound_us and sample_us share one clock. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "proto/load.h"
#include "scheduler/cluster/node_metrics.h"
#include "scheduler/cluster/node_vms.h"
#include "scheduler/objects/consent.h"
#include "scheduler/objects/pod.h"
#include "scheduler/objects/rejection.h"
#include "scheduler/objects/taint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node with more scalar resources or taints is ignored: every decision walks
 * over them. Device plugins offer some ten. */
enum { NODE_RESOURCES_MAX = 256, NODE_TAINTS_MAX = 1024 };

/* A scalar resource that the node offers: see objects/resources.h. The others
 * do not count, because none of them is ever there. */
struct node_resource {
	uint32_t resource; /* held */
	bool is_measured;  /* huge pages that the last load lists */
	int64_t allocatable, requested;
	/* If measured: bytes in pages that nobody uses or has reserved, without
	 * those of pods added since the load. */
	int64_t free_bytes;
};

/* A pod on the node. */
struct node_pod {
	const struct pod *pod; /* borrowed */
	int64_t bound_us;
};

/* Fields that every decision reads are contiguous, from is_unschedulable to
 * metrics.memory_available, to touch few cache lines on thousands of nodes.
 * Nodes lie 544 bytes apart on the heap. With 512, the same field of all nodes
 * would share an eighth of the CPU cache. */
struct node {
	struct interner *interner; /* borrowed */
	char *name;		   /* owned */
	/* Sums over its pods for the upstream policies. */
	int64_t nonzero_milli, nonzero_bytes, limit_milli, limit_bytes;
	struct node_pod *pods; /* owned; in no order */
	size_t pod_capacity;
	bool has_zone;	  /* a label with its zone or region */
	uint8_t features; /* that it declares: objects/features.h */
	uint32_t name_id; /* held */
	/* The Node's word on moving its VMs. */
	enum consent consent;

	bool is_unschedulable;
	struct labels labels;
	struct taints taints;
	struct node_resource *scalars; /* owned */
	size_t scalar_count;
	int64_t max_pods; /* allocatable, as are the next three */
	int64_t cpu_milli, memory_bytes, ephemeral_bytes;
	size_t pod_count;
	int64_t cpu_milli_requested, memory_bytes_requested;
	int64_t ephemeral_bytes_requested;
	/* CPU requests of its pods that are not VMs, each up to
	 * FORECAST_VCPUS_MAX. `vms` has the expected use of VMs. */
	int64_t expected_milli;
	struct rejections rejections; /* by its kubelet */
	struct node_vms vms;
	struct node_metrics metrics;
};

/* -EBADMSG: not a node that an API server would serve; -E2BIG: too many
 * resources or taints. */
must_check int node_new(struct node **out, struct interner *interner,
	const struct json_value *object, struct error *err);
void node_free(struct node *node); /* NULL is fine */

/* The node with its load, its VMs, and the sums over its pods, but with none of
 * them: the caller adds pods that share their parts with the original's pods by
 * node_add_counted_pod(), and keeps them as long as the copy. Never NULL. */
struct node *node_copy(const struct node *node);

/* Applies a newer version of the Node object; the pods and the load stay. Same
 * errors as node_new(); the node is then unchanged. */
must_check int node_update(struct node *node, const struct json_value *object,
	struct error *err);

/* Adds a pod, which holds resources of the node from now on. The caller leaves
 * out terminated pods, and keeps the pod until it is removed or the node is
 * freed. bound_us may be TIME_LONG_AGO. */
void node_add_pod(struct node *node, const struct pod *pod, int64_t bound_us);

/* The same for a pod that the sums count already, as those of a copy do. */
void node_add_counted_pod(struct node *node, const struct pod *pod,
	int64_t bound_us);

/* Undoes either with the same pointer. */
void node_remove_pod(struct node *node, const struct pod *pod);

/* The same for what a search supposes: the pod takes or frees its huge pages at
 * once, also if the last load is newer. Each undoes the other. */
void node_occupy(struct node *node, const struct pod *pod, int64_t bound_us);
void node_vacate(struct node *node, const struct pod *pod);

/* NULL: the node does not offer it. */
const struct node_resource *node_scalar(const struct node *node,
	uint32_t resource);

/* The value of the label kubernetes.io/hostname; NULL: there is none. */
const char *node_hostname(const struct node *node);

/* Borrows from the node. */
struct requirement_subject node_subject(const struct node *node);
/* The pod's required node affinity admits the node; its nodeSelector, too. */
bool node_has_affinity(const struct node *node, const struct pod *pod);
bool node_is_selected(const struct node *node, const struct pod *pod);

/* Sets the metrics and observes the VMs that the load lists; load is borrowed
 * for the call. A sample from the future counts as one of now. */
void node_set_load(struct node *node, const struct node_load *load,
	int64_t sample_us, int64_t now_us);

/* The unix time at 0 of the caller's clock, for announcements. 0: unknown, or
 * the clock is unix time. */
static inline void node_set_wall_offset(struct node *node, int64_t offset_us)
{
	node->vms.wall_offset_us = offset_us;
}

/* The shared cores: all cores without the dedicated CPUs of VMs. */
static inline double node_shared_cores(const struct node *node)
{
	double cores = node->metrics.cores > 0 ? node->metrics.cores
					       : (double)node->cpu_milli / 1000;

	return cores - node->vms.dedicated_cores;
}

/* The measured use of the shared cores; NAN: unknown. See
 * node_metrics_used_cores(). */
static inline double node_used_cores(const struct node *node)
{
	double cores = node->metrics.used_cores - node->vms.dedicated_used;

	return cores < 0 ? 0 : cores;
}

/* The expected use of the shared cores: the larger of the measured use, and the
 * measured use with the expected or announced use of each seen VM in place of
 * its measured use; plus the unseen VMs. The moments are sums over VMs that are
 * independent; node->vms.kin has what kin add. Only for a node with a load. */
struct model_forecast node_expected_load(const struct node *node,
	struct model_prior prior, int64_t now_us);
