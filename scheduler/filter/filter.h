/* May this pod run on this node at all? In kube-scheduler's order and words.
 *
 * NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts,
 * NodeResourcesFit, the four about volumes, PodTopologySpread, InterPodAffinity; the first that rejects
 * gives the node's reasons, NodeResourcesFit all that are insufficient. Then our
 * own: KVM that is known not to work,
 * for pods that request it, and memory that is known not to be there. Both
 * only on fresh data. What is about the pod alone, or about the whole cluster,
 * was decided before: see prefilter.h. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/filter/prefilter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a reasons word. From REASON_OTHER on: the pod's requests.others[n]
 * is insufficient. */
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
	REASON_VOLUMES, /* from here on one for each enum volumes_reason */
	REASON_SPREAD = REASON_VOLUMES + VOLUMES_REASONS,
	REASON_SPREAD_LABEL,
	REASON_POD_AFFINITY,
	REASON_POD_ANTI_AFFINITY,
	REASON_EXISTING_ANTI_AFFINITY,
	REASON_KVM_MISSING,
	REASON_KVM_API_MISMATCH,
	REASON_KVM_CREATE_FAILED,
	REASON_KVM_RUN_FAILED,
	REASON_MEMORY_USED,
	REASON_OTHER,
	REASONS_MAX = 64,
};

_Static_assert(REASON_OTHER + RESOURCES_POD_MAX <= REASONS_MAX,
	"every resource of a pod needs a bit");

/* Whose reason it is, for figures of rejections: kube-scheduler's plugins and
 * our own filters. */
enum filter_plugin {
	PLUGIN_UNSUPPORTED, /* refused for what the pod asks: unsupported.h */
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
	PLUGIN_WORKING_KVM,
	PLUGIN_MEMORY_THERE,
	FILTER_PLUGINS,
};

/* reason is not REASON_REFUSED, whose plugin the pod tells. */
enum filter_plugin filter_plugin(unsigned int reason);
const char *filter_plugin_name(enum filter_plugin plugin);

/* Bytes for any reason's text. */
enum { FILTER_REASON_TEXT_MAX = 400 };

struct filter_options {
	/* Reject nodes whose available memory is below what the pod requests:
	 * the only limit by measured load that is on by default. */
	bool has_memory_limit;
};

/* An initialiser. */
#define FILTER_DEFAULTS                                                        \
	{                                                                      \
		.has_memory_limit = true                                       \
	}

/* One bit per reason; 0: the node is feasible. prefilter has run for a pod read
 * with POD_TO_PLACE. */
uint64_t filter_node(struct prefilter *prefilter, const struct node *node,
	const struct filter_options *options, int64_t now_us);

/* What filter_node() does last, alone: by what was measured there. */
uint64_t filter_measured(const struct pod *pod, const struct node *node,
	const struct filter_options *options, int64_t now_us);

/* "node(s) had untolerated taint(s)", "Insufficient memory". out holds size
 * bytes. Returns out. */
const char *filter_reason_text(char *out, size_t size,
	const struct prefilter *prefilter, unsigned int reason);
