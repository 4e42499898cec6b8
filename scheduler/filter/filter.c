#include "scheduler/filter/filter.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/filter/csi_drivers.h"

/* The difference wraps as upstream's does: see cluster/node.c. */
static bool is_short(int64_t wanted, int64_t allocatable, int64_t requested)
{
	return wanted > 0 &&
		wanted > (int64_t)((uint64_t)allocatable - (uint64_t)requested);
}

static bool is_scalar_short(const struct amount *wanted,
	const struct node *node, int64_t others)
{
	const struct node_resource *scalar =
		node_scalar(node, wanted->resource);

	return scalar == NULL ||
		is_short(wanted->value, scalar->allocatable,
			others * scalar->requested);
}

/* others: 1: other pods hold what they request; 0: they do not count. */
static uint64_t filter_resources(const struct pod *pod, const struct node *node,
	int64_t others)
{
	const struct resources *r = &pod->requests;
	uint64_t reasons = 0;

	if (others * (int64_t)node->pod_count + 1 > node->max_pods) {
		reasons |= FILTER_BIT(REASON_PODS);
	}
	if (is_short(r->cpu_milli, node->cpu_milli,
		    others * node->cpu_milli_requested)) {
		reasons |= FILTER_BIT(REASON_CPU);
	}
	if (is_short(r->memory_bytes, node->memory_bytes,
		    others * node->memory_bytes_requested)) {
		reasons |= FILTER_BIT(REASON_MEMORY);
	}
	if (is_short(r->ephemeral_bytes, node->ephemeral_bytes,
		    others * node->ephemeral_bytes_requested)) {
		reasons |= FILTER_BIT(REASON_EPHEMERAL);
	}
	for (size_t i = 0; i < r->scalar_count; i++) {
		if (is_scalar_short(&r->scalars[i], node, others)) {
			reasons |= FILTER_BIT(REASON_SCALAR + (unsigned int)i);
		}
	}
	return reasons;
}

static bool has_free_ports(const struct pod *pod, const struct node *node)
{
	if (pod->ports.count == 0) {
		return true;
	}
	for (size_t i = 0; i < node->pod_count; i++) {
		if (host_ports_conflict(&pod->ports,
			    &node->pods[i].pod->ports)) {
			return false;
		}
	}
	return true;
}

static uint64_t filter_spread(const struct spread *spread,
	const struct node *node)
{
	static const uint64_t reasons[] = {
		[SPREAD_FITS] = 0,
		[SPREAD_SKEWED] = FILTER_BIT(REASON_SPREAD),
		[SPREAD_NO_LABEL] = FILTER_BIT(REASON_SPREAD_LABEL),
	};

	return reasons[spread_filter(spread, node)];
}

static uint64_t filter_affinity(const struct affinity *affinity,
	const struct node *node)
{
	static const uint64_t reasons[] = {
		[AFFINITY_FITS] = 0,
		[AFFINITY_NOT_MET] = FILTER_BIT(REASON_POD_AFFINITY),
		[AFFINITY_ANTI] = FILTER_BIT(REASON_POD_ANTI_AFFINITY),
		[AFFINITY_EXISTING_ANTI] =
			FILTER_BIT(REASON_EXISTING_ANTI_AFFINITY),
	};

	return reasons[affinity_filter(affinity, node)];
}

/* EPERM and the like are KVM_UNVERIFIED: they concern the agent. */
static uint64_t filter_kvm(enum kvm_state state)
{
	static const uint64_t reasons[KVM_STATES] = {
		[KVM_MISSING] = FILTER_BIT(REASON_KVM_MISSING),
		[KVM_API_MISMATCH] = FILTER_BIT(REASON_KVM_API_MISMATCH),
		[KVM_CREATE_FAILED] = FILTER_BIT(REASON_KVM_CREATE_FAILED),
		[KVM_RUN_FAILED] = FILTER_BIT(REASON_KVM_RUN_FAILED),
	};

	return reasons[state];
}

static bool has_free_hugepages(const struct pod *pod, const struct node *node)
{
	for (size_t i = 0; i < pod->requests.scalar_count; i++) {
		const struct amount *wanted = &pod->requests.scalars[i];
		const struct node_resource *scalar =
			node_scalar(node, wanted->resource);

		if (scalar != NULL && scalar->is_measured &&
			scalar->free_bytes < wanted->value) {
			return false;
		}
	}
	return true;
}

uint64_t filter_by_metrics(const struct pod *pod, const struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	const struct node_metrics *metrics = &node->metrics;

	if (!node_metrics_is_fresh(metrics, now_us)) {
		return 0;
	}
	if (pod->requests_kvm && filter_kvm(metrics->kvm_state) != 0) {
		return filter_kvm(metrics->kvm_state);
	}
	/* Neither the memory request nor the available memory contains huge
	 * pages. An unknown figure compares as false. */
	if (options->has_memory_limit &&
		metrics->memory_available <
			(double)pod->requests.memory_bytes) {
		return FILTER_BIT(REASON_MEMORY_USED);
	}
	if (options->has_hugepages_limit && pod->requests_hugepages &&
		!has_free_hugepages(pod, node)) {
		return FILTER_BIT(REASON_HUGEPAGES_USED);
	}
	return 0;
}

static bool are_taints_tolerated(const struct pod *pod, const struct node *node,
	bool is_now)
{
	return (is_now ? taints_tolerated : taints_of_people_tolerated)(
		&node->taints, &pod->tolerations);
}

/* The filters that need only the pod and the node. is_now: what passes counts:
 * a cordon, and passing taints. */
static uint64_t filter_admission(const struct prefilter *prefilter,
	const struct node *node, bool is_now)
{
	const struct pod *pod = prefilter->pod;

	if (prefilter->refusal != NULL) {
		return FILTER_BIT(REASON_REFUSED);
	}
	if (prefilter_pins_other(prefilter, node)) {
		return FILTER_BIT(REASON_PINNED);
	}
	if (is_now && node->is_unschedulable &&
		!pod->tolerations.has_unschedulable) {
		return FILTER_BIT(REASON_UNSCHEDULABLE);
	}
	if (*pod->node_name != '\0' &&
		strcmp(pod->node_name, node->name) != 0) {
		return FILTER_BIT(REASON_NODE_NAME);
	}
	if (!are_taints_tolerated(pod, node, is_now)) {
		return FILTER_BIT(REASON_TAINT);
	}
	return node_is_selected(node, pod) ? 0 : FILTER_BIT(REASON_AFFINITY);
}

uint64_t filter_by_counts(const struct prefilter *prefilter,
	const struct node *node)
{
	uint64_t reasons = filter_spread(&prefilter->spread, node);

	return reasons != 0 ? reasons
			    : filter_affinity(&prefilter->affinity, node);
}

/* The filters that need other pods or objects, too. */
static uint64_t filter_relations(struct prefilter *prefilter,
	const struct node *node)
{
	uint64_t reasons = (uint64_t)volumes_filter(&prefilter->volumes, node)
		<< REASON_VOLUMES;

	return reasons != 0 ? reasons : filter_by_counts(prefilter, node);
}

static uint64_t filter_features(const struct prefilter *prefilter,
	const struct node *node)
{
	return (prefilter->features & ~node->features) != 0
		? FILTER_BIT(REASON_FEATURES)
		: 0;
}

uint64_t filter_node(struct prefilter *prefilter, const struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	uint64_t reasons = filter_admission(prefilter, node, true);

	if (reasons == 0 && !has_free_ports(prefilter->pod, node)) {
		reasons = FILTER_BIT(REASON_PORTS);
	}
	if (reasons == 0) {
		reasons = filter_resources(prefilter->pod, node, 1);
	}
	if (reasons == 0 && !prefilter->is_plain) {
		reasons = filter_relations(prefilter, node);
	}
	if (reasons == 0) {
		reasons = filter_features(prefilter, node);
	}
	return reasons != 0
		? reasons
		: filter_by_metrics(prefilter->pod, node, options, now_us);
}

uint64_t filter_empty_node(const struct prefilter *prefilter,
	const struct node *node, int64_t now_us)
{
	static const struct filter_options without_limits = { 0 };
	uint64_t reasons = filter_admission(prefilter, node, false);

	if (reasons == 0) {
		reasons = filter_resources(prefilter->pod, node, 0);
	}
	if (reasons == 0) {
		reasons = (uint64_t)volumes_filter_places(&prefilter->volumes,
				  node)
			<< REASON_VOLUMES;
	}
	if (reasons == 0) {
		reasons = filter_features(prefilter, node);
	}
	return reasons != 0 ? reasons
			    : filter_by_metrics(prefilter->pod, node,
				      &without_limits, now_us);
}

#define IN_USE                                                                 \
	"node(s) unavailable due to PersistentVolumeClaim with "               \
	"ReadWriteOncePod access mode already in-use by another pod"
#define MISSING_VOLUME                                                         \
	"node(s) unavailable due to one or more pvc(s) bound to "              \
	"non-existent pv(s)"
#define SKEWED "node(s) didn't match pod topology spread constraints"

static const struct {
	enum filter_plugin plugin;
	const char *text;
} reason_table[] = {
	[REASON_PINNED] = { PLUGIN_NODE_AFFINITY, NULL },
	[REASON_UNSCHEDULABLE] = { PLUGIN_NODE_UNSCHEDULABLE,
		"node(s) were unschedulable" },
	[REASON_NODE_NAME] = { PLUGIN_NODE_NAME,
		"node(s) didn't match the requested node name" },
	[REASON_TAINT] = { PLUGIN_TAINT_TOLERATION,
		"node(s) had untolerated taint(s)" },
	[REASON_AFFINITY] = { PLUGIN_NODE_AFFINITY,
		"node(s) didn't match Pod's node affinity/selector" },
	[REASON_PORTS] = { PLUGIN_NODE_PORTS,
		"node(s) didn't have free ports for the requested pod ports" },
	[REASON_PODS] = { PLUGIN_NODE_RESOURCES_FIT, "Too many pods" },
	[REASON_CPU] = { PLUGIN_NODE_RESOURCES_FIT, "Insufficient cpu" },
	[REASON_MEMORY] = { PLUGIN_NODE_RESOURCES_FIT, "Insufficient memory" },
	[REASON_EPHEMERAL] = { PLUGIN_NODE_RESOURCES_FIT,
		"Insufficient ephemeral-storage" },
	[REASON_VOLUMES + VOLUMES_DISK] = { PLUGIN_VOLUME_RESTRICTIONS,
		"node(s) had no available disk" },
	[REASON_VOLUMES +
		VOLUMES_IN_USE] = { PLUGIN_VOLUME_RESTRICTIONS, IN_USE },
	[REASON_VOLUMES + VOLUMES_DRIVER] = { PLUGIN_NODE_VOLUME_LIMITS, NULL },
	[REASON_VOLUMES + VOLUMES_COUNT] = { PLUGIN_NODE_VOLUME_LIMITS,
		"node(s) exceed max volume count" },
	[REASON_VOLUMES + VOLUMES_AFFINITY] = { PLUGIN_VOLUME_BINDING,
		"node(s) didn't match PersistentVolume's node affinity" },
	[REASON_VOLUMES + VOLUMES_NONE] = { PLUGIN_VOLUME_BINDING,
		"node(s) didn't find available persistent volumes to bind" },
	[REASON_VOLUMES + VOLUMES_SPACE] = { PLUGIN_VOLUME_BINDING,
		"node(s) did not have enough free storage" },
	[REASON_VOLUMES +
		VOLUMES_MISSING] = { PLUGIN_VOLUME_BINDING, MISSING_VOLUME },
	[REASON_VOLUMES + VOLUMES_ZONE] = { PLUGIN_VOLUME_ZONE,
		"node(s) had no available volume zone" },
	[REASON_SPREAD] = { PLUGIN_POD_TOPOLOGY_SPREAD, SKEWED },
	[REASON_SPREAD_LABEL] = { PLUGIN_POD_TOPOLOGY_SPREAD,
		SKEWED " (missing required label)" },
	[REASON_POD_AFFINITY] = { PLUGIN_INTER_POD_AFFINITY,
		"node(s) didn't match pod affinity rules" },
	[REASON_POD_ANTI_AFFINITY] = { PLUGIN_INTER_POD_AFFINITY,
		"node(s) didn't match pod anti-affinity rules" },
	[REASON_EXISTING_ANTI_AFFINITY] = { PLUGIN_INTER_POD_AFFINITY,
		"node(s) didn't satisfy existing pods anti-affinity rules" },
	[REASON_FEATURES] = { PLUGIN_NODE_DECLARED_FEATURES,
		"node(s) didn't match Pod's required features" },
	[REASON_KVM_MISSING] = { PLUGIN_WORKING_KVM,
		"node(s) cannot start VMs: KVM missing" },
	[REASON_KVM_API_MISMATCH] = { PLUGIN_WORKING_KVM,
		"node(s) cannot start VMs: KVM api_mismatch" },
	[REASON_KVM_CREATE_FAILED] = { PLUGIN_WORKING_KVM,
		"node(s) cannot start VMs: KVM create_failed" },
	[REASON_KVM_RUN_FAILED] = { PLUGIN_WORKING_KVM,
		"node(s) cannot start VMs: KVM run_failed" },
	[REASON_MEMORY_USED] = { PLUGIN_MEMORY_AVAILABLE,
		"node(s) had less memory available than requested" },
	[REASON_HUGEPAGES_USED] = { PLUGIN_HUGEPAGES_AVAILABLE,
		"node(s) had fewer huge pages free than requested" },
};

const char *filter_reason_text(char *out, size_t size,
	const struct prefilter *prefilter, unsigned int reason)
{
	const struct pod *pod = prefilter->pod;

	if (reason == REASON_REFUSED) {
		(void)snprintf(out, size, "%s", prefilter->refusal);
	} else if (reason == REASON_PINNED) {
		(void)snprintf(out, size, "node(s) didn't satisfy plugin(s) %s",
			prefilter_pinning_plugins(prefilter));
	} else if (reason == REASON_VOLUMES + VOLUMES_DRIVER) {
		csi_drivers_reason(out, size, &prefilter->volumes);
	} else if (reason < REASON_SCALAR) {
		(void)snprintf(out, size, "%s", reason_table[reason].text);
	} else {
		(void)snprintf(out, size, "Insufficient %s",
			interner_text(pod->interner,
				pod->requests.scalars[reason - REASON_SCALAR]
					.resource));
	}
	return out;
}

enum filter_plugin filter_plugin(unsigned int reason)
{
	return reason < REASON_SCALAR ? reason_table[reason].plugin
				      : PLUGIN_NODE_RESOURCES_FIT;
}

const char *filter_plugin_name(enum filter_plugin plugin)
{
	static const char *const names[] = {
		[PLUGIN_UNSUPPORTED] = "Unsupported",
		[PLUGIN_NODE_UNSCHEDULABLE] = "NodeUnschedulable",
		[PLUGIN_NODE_NAME] = "NodeName",
		[PLUGIN_TAINT_TOLERATION] = "TaintToleration",
		[PLUGIN_NODE_AFFINITY] = "NodeAffinity",
		[PLUGIN_NODE_PORTS] = "NodePorts",
		[PLUGIN_NODE_RESOURCES_FIT] = "NodeResourcesFit",
		[PLUGIN_VOLUME_RESTRICTIONS] = "VolumeRestrictions",
		[PLUGIN_NODE_VOLUME_LIMITS] = "NodeVolumeLimits",
		[PLUGIN_VOLUME_BINDING] = "VolumeBinding",
		[PLUGIN_VOLUME_ZONE] = "VolumeZone",
		[PLUGIN_POD_TOPOLOGY_SPREAD] = "PodTopologySpread",
		[PLUGIN_INTER_POD_AFFINITY] = "InterPodAffinity",
		[PLUGIN_NODE_DECLARED_FEATURES] = "NodeDeclaredFeatures",
		[PLUGIN_WORKING_KVM] = "WorkingKVM",
		[PLUGIN_MEMORY_AVAILABLE] = "MemoryThere",
		[PLUGIN_HUGEPAGES_AVAILABLE] = "HugePagesThere",
	};

	return names[plugin];
}
