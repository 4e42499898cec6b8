/* Can this pod run on this node? In kube-scheduler's order and words.
 *
 * The filters are NodeUnschedulable, NodeName, TaintToleration, NodeAffinity,
 * NodePorts, NodeResourcesFit, the four volume plugins, PodTopologySpread,
 * InterPodAffinity and NodeDeclaredFeatures. The first that rejects gives the
 * node's reasons; NodeResourcesFit gives all resources that are insufficient.
 * Three filters of our own follow: broken KVM, for pods that request KVM, too
 * little available memory, and too few free huge pages. All need fresh data.
 * filter/prefilter.h decides before whatever concerns the pod alone or the
 * whole cluster. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/filter/prefilter.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a reasons word. REASON_SCALAR + n: the pod's requests.scalars[n] is
 * insufficient. */
enum filter_reason {
	REASON_REFUSED, /* prefilter->refusal, for every node */
	REASON_PINNED,
	REASON_UNSCHEDULABLE,
	REASON_NODE_NAME,
	REASON_TAINT,
	REASON_AFFINITY,
	REASON_PORTS,
	REASON_PODS,
	REASON_CPU,
	REASON_MEMORY,
	REASON_EPHEMERAL,
	REASON_VOLUMES, /* + enum volumes_reason */
	REASON_SPREAD = REASON_VOLUMES + VOLUMES_REASONS,
	REASON_SPREAD_LABEL,
	REASON_POD_AFFINITY,
	REASON_POD_ANTI_AFFINITY,
	REASON_EXISTING_ANTI_AFFINITY,
	REASON_FEATURES,
	REASON_KVM_MISSING,
	REASON_KVM_API_MISMATCH,
	REASON_KVM_CREATE_FAILED,
	REASON_KVM_RUN_FAILED,
	REASON_MEMORY_USED,
	REASON_HUGEPAGES_USED,
	REASON_SCALAR,
	REASONS_MAX = 64,
};

_Static_assert(REASON_SCALAR + RESOURCES_POD_MAX <= REASONS_MAX,
	"every resource of a pod needs a bit");

/* A set of reasons is an uint64_t with these bits. */
#define FILTER_BIT(reason) (UINT64_C(1) << (reason))

/* The reasons that end when others use less: they need measured data. */
#define FILTER_USED                                                            \
	(FILTER_BIT(REASON_MEMORY_USED) | FILTER_BIT(REASON_HUGEPAGES_USED))

/* The plugins of kube-scheduler and our own filters, for metrics. */
enum filter_plugin {
	PLUGIN_UNSUPPORTED, /* see objects/unsupported.h */
	PLUGIN_NODE_UNSCHEDULABLE,
	PLUGIN_NODE_NAME,
	PLUGIN_TAINT_TOLERATION,
	PLUGIN_NODE_AFFINITY,
	PLUGIN_NODE_PORTS,
	PLUGIN_NODE_RESOURCES_FIT,
	PLUGIN_VOLUME_RESTRICTIONS,
	PLUGIN_NODE_VOLUME_LIMITS,
	PLUGIN_VOLUME_BINDING,
	PLUGIN_VOLUME_ZONE,
	PLUGIN_POD_TOPOLOGY_SPREAD,
	PLUGIN_INTER_POD_AFFINITY,
	PLUGIN_NODE_DECLARED_FEATURES,
	PLUGIN_WORKING_KVM,
	PLUGIN_MEMORY_AVAILABLE,
	PLUGIN_HUGEPAGES_AVAILABLE,
	FILTER_PLUGINS,
};

/* The plugin of a reason other than REASON_REFUSED. */
enum filter_plugin filter_plugin(unsigned int reason);
const char *filter_plugin_name(enum filter_plugin plugin);

/* Bytes for the text of any reason. */
enum { FILTER_REASON_TEXT_MAX = 400 };

struct filter_options {
	/* Reject nodes whose available memory is below the pod's request. */
	bool has_memory_limit;
	/* Reject nodes that have fewer free huge pages of a size than the pod
	 * requests, whoever holds the others. */
	bool has_hugepages_limit;
};

/* An initialiser. */
#define FILTER_DEFAULTS                                                        \
	{                                                                      \
		.has_memory_limit = true, .has_hugepages_limit = true          \
	}

/* One bit per reason; 0: the node is feasible. Call prefilter_run() before, for
 * a pod read with POD_UNSCHEDULED. */
uint64_t filter_node(struct prefilter *prefilter, const struct node *node,
	const struct filter_options *options, int64_t now_us);

/* Could the pod run on the node if no other pod were there or anywhere, and if
 * the node were in order? The reasons of filter_node() but for what is in use,
 * pod affinity and spread, a cordon, and taints that pass (objects/taint.h).
 * The pod must request at most what the node has. Call prefilter_run_alone()
 * before. */
uint64_t filter_empty_node(const struct prefilter *prefilter,
	const struct node *node, int64_t now_us);

/* Only the filters of filter_node() that count other pods: spread, pod affinity
 * and anti-affinity. */
uint64_t filter_by_counts(const struct prefilter *prefilter,
	const struct node *node);

/* Only the filters of filter_node() by measured data. */
uint64_t filter_by_metrics(const struct pod *pod, const struct node *node,
	const struct filter_options *options, int64_t now_us);

/* "node(s) had untolerated taint(s)", "Insufficient memory". out holds size
 * bytes. Returns out. */
const char *filter_reason_text(char *out, size_t size,
	const struct prefilter *prefilter, unsigned int reason);
