#include "scheduler/filter/filter.h"

#include <stdio.h>
#include <string.h>

static uint64_t bit(unsigned int reason)
{
	return UINT64_C(1) << reason;
}

/* Room is computed as upstream does, wrapping and all: see node.c. */
static bool is_short(int64_t wanted, int64_t allocatable, int64_t requested)
{
	return wanted > 0 &&
		wanted > (int64_t)((uint64_t)allocatable - (uint64_t)requested);
}

static bool is_other_short(const struct amount *wanted, const struct node *node)
{
	for (size_t i = 0; i < node->other_count; i++) {
		const struct node_resource *other = &node->others[i];

		if (other->resource == wanted->resource) {
			return is_short(wanted->value, other->allocatable,
				other->requested);
		}
	}
	return true;
}

static uint64_t filter_resources(const struct pod *pod, const struct node *node)
{
	const struct resources *r = &pod->requests;
	uint64_t reasons = 0;

	if (node->pods_running + 1 > node->pods) {
		reasons |= bit(REASON_PODS);
	}
	if (is_short(r->cpu_milli, node->cpu_milli,
		    node->cpu_milli_requested)) {
		reasons |= bit(REASON_CPU);
	}
	if (is_short(r->memory_bytes, node->memory_bytes,
		    node->memory_bytes_requested)) {
		reasons |= bit(REASON_MEMORY);
	}
	if (is_short(r->ephemeral_bytes, node->ephemeral_bytes,
		    node->ephemeral_bytes_requested)) {
		reasons |= bit(REASON_EPHEMERAL);
	}
	for (size_t i = 0; i < r->other_count; i++) {
		if (is_other_short(&r->others[i], node)) {
			reasons |= bit(REASON_OTHER + (unsigned int)i);
		}
	}
	return reasons;
}

static bool are_ports_free(const struct pod *pod, const struct node *node)
{
	if (pod->ports.count == 0) {
		return true;
	}
	for (size_t i = 0; i < node->guest_count; i++) {
		if (host_ports_conflict(&pod->ports,
			    &node->guests[i].pod->ports)) {
			return false;
		}
	}
	return true;
}

static uint64_t filter_spread(const struct spread *spread,
	const struct node *node)
{
	switch (spread_filter(spread, node)) {
	case SPREAD_SKEWED:
		return bit(REASON_SPREAD);
	case SPREAD_NO_LABEL:
		return bit(REASON_SPREAD_LABEL);
	case SPREAD_FITS:
		break;
	}
	return 0;
}

static uint64_t filter_affinity(const struct affinity *affinity,
	const struct node *node)
{
	switch (affinity_filter(affinity, node)) {
	case AFFINITY_NOT_MET:
		return bit(REASON_POD_AFFINITY);
	case AFFINITY_UNWANTED:
		return bit(REASON_POD_ANTI_AFFINITY);
	case AFFINITY_EXISTING:
		return bit(REASON_EXISTING_ANTI_AFFINITY);
	case AFFINITY_FITS:
		break;
	}
	return 0;
}

/* EPERM and the like are KVM_UNVERIFIED: they speak of the agent. */
static uint64_t filter_kvm(enum kvm_state state)
{
	switch (state) {
	case KVM_MISSING:
		return bit(REASON_KVM_MISSING);
	case KVM_API_MISMATCH:
		return bit(REASON_KVM_API_MISMATCH);
	case KVM_CREATE_FAILED:
		return bit(REASON_KVM_CREATE_FAILED);
	case KVM_RUN_FAILED:
		return bit(REASON_KVM_RUN_FAILED);
	case KVM_OK:
	case KVM_UNVERIFIED:
	case KVM_STATES:
		break;
	}
	return 0;
}

uint64_t filter_measured(const struct pod *pod, const struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	const struct measure *measure = &node->measure;

	if (!measure_is_fresh(measure, now_us)) {
		return 0;
	}
	if (pod->wants_kvm && filter_kvm(measure->kvm_state) != 0) {
		return filter_kvm(measure->kvm_state);
	}
	/* Huge pages are not part of the pod's memory request, nor of what is
	 * available. An unknown figure compares as false. */
	if (options->has_memory_limit &&
		measure->memory_available <
			(double)pod->requests.memory_bytes) {
		return bit(REASON_MEMORY_USED);
	}
	return 0;
}

/* The filters that ask for no more than whether the node admits the pod. */
static uint64_t filter_admission(const struct prefilter *prefilter,
	const struct node *node)
{
	const struct pod *pod = prefilter->pod;

	if (prefilter->refusal != NULL) {
		return bit(REASON_REFUSED);
	}
	if (prefilter->is_pinned && !terms_pin(&pod->required, node->name_id)) {
		return bit(REASON_PINNED);
	}
	if (node->is_unschedulable && !pod->tolerations.has_unschedulable) {
		return bit(REASON_UNSCHEDULABLE);
	}
	if (*pod->node_name != '\0' &&
		strcmp(pod->node_name, node->name) != 0) {
		return bit(REASON_NODE_NAME);
	}
	if (!taints_tolerated(&node->taints, &pod->tolerations)) {
		return bit(REASON_TAINT);
	}
	return node_is_selected(node, pod) ? 0 : bit(REASON_AFFINITY);
}

/* What takes a look at more than the node. */
static uint64_t filter_relations(struct prefilter *prefilter,
	const struct node *node)
{
	uint64_t reasons = (uint64_t)volumes_filter(&prefilter->volumes, node)
		<< REASON_VOLUMES;

	if (reasons == 0) {
		reasons = filter_spread(&prefilter->spread, node);
	}
	return reasons != 0 ? reasons
			    : filter_affinity(&prefilter->affinity, node);
}

uint64_t filter_node(struct prefilter *prefilter, const struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	uint64_t reasons = filter_admission(prefilter, node);

	if (reasons == 0 && !are_ports_free(prefilter->pod, node)) {
		reasons = bit(REASON_PORTS);
	}
	if (reasons == 0) {
		reasons = filter_resources(prefilter->pod, node);
	}
	if (reasons == 0 && !prefilter->is_plain) {
		reasons = filter_relations(prefilter, node);
	}
	return reasons != 0
		? reasons
		: filter_measured(prefilter->pod, node, options, now_us);
}

static const char no_ports[] =
	"node(s) didn't have free ports for the requested pod ports";
static const char skewed[] =
	"node(s) didn't match pod topology spread constraints";
static const char no_domain[] =
	"node(s) didn't match pod topology spread constraints "
	"(missing required label)";
static const char existing[] =
	"node(s) didn't satisfy existing pods anti-affinity rules";

const char *filter_reason_text(char *out, size_t size,
	const struct prefilter *prefilter, unsigned int reason)
{
	const struct pod *pod = prefilter->pod;
	static const char *const texts[] = {
		[REASON_PINNED] =
			"node(s) didn't satisfy plugin(s) [NodeAffinity]",
		[REASON_UNSCHEDULABLE] = "node(s) were unschedulable",
		[REASON_NODE_NAME] =
			"node(s) didn't match the requested node name",
		[REASON_TAINT] = "node(s) had untolerated taint(s)",
		[REASON_AFFINITY] =
			"node(s) didn't match Pod's node affinity/selector",
		[REASON_PORTS] = no_ports,
		[REASON_PODS] = "Too many pods",
		[REASON_CPU] = "Insufficient cpu",
		[REASON_MEMORY] = "Insufficient memory",
		[REASON_EPHEMERAL] = "Insufficient ephemeral-storage",
		[REASON_SPREAD] = skewed,
		[REASON_SPREAD_LABEL] = no_domain,
		[REASON_POD_AFFINITY] =
			"node(s) didn't match pod affinity rules",
		[REASON_POD_ANTI_AFFINITY] =
			"node(s) didn't match pod anti-affinity rules",
		[REASON_EXISTING_ANTI_AFFINITY] = existing,
		[REASON_KVM_MISSING] = "node(s) cannot start VMs: KVM missing",
		[REASON_KVM_API_MISMATCH] =
			"node(s) cannot start VMs: KVM api_mismatch",
		[REASON_KVM_CREATE_FAILED] =
			"node(s) cannot start VMs: KVM create_failed",
		[REASON_KVM_RUN_FAILED] =
			"node(s) cannot start VMs: KVM run_failed",
		[REASON_MEMORY_USED] =
			"node(s) had less memory available than requested",
	};

	if (reason == REASON_REFUSED) {
		(void)snprintf(out, size, "%s", prefilter->refusal);
	} else if (reason >= REASON_VOLUMES && reason < REASON_SPREAD) {
		(void)snprintf(out, size, "%s",
			volumes_reason_text((enum volumes_reason)(
				reason - REASON_VOLUMES)));
	} else if (reason < REASON_OTHER) {
		(void)snprintf(out, size, "%s", texts[reason]);
	} else {
		(void)snprintf(out, size, "Insufficient %s",
			names_text(pod->names,
				pod->requests.others[reason - REASON_OTHER]
					.resource));
	}
	return out;
}

enum filter_plugin filter_plugin(unsigned int reason)
{
	static const enum filter_plugin plugins[] = {
		[REASON_PINNED] = PLUGIN_NODE_AFFINITY,
		[REASON_UNSCHEDULABLE] = PLUGIN_NODE_UNSCHEDULABLE,
		[REASON_NODE_NAME] = PLUGIN_NODE_NAME,
		[REASON_TAINT] = PLUGIN_TAINT_TOLERATION,
		[REASON_AFFINITY] = PLUGIN_NODE_AFFINITY,
		[REASON_PORTS] = PLUGIN_NODE_PORTS,
		[REASON_PODS] = PLUGIN_NODE_RESOURCES_FIT,
		[REASON_CPU] = PLUGIN_NODE_RESOURCES_FIT,
		[REASON_MEMORY] = PLUGIN_NODE_RESOURCES_FIT,
		[REASON_EPHEMERAL] = PLUGIN_NODE_RESOURCES_FIT,
		[REASON_VOLUMES + VOLUMES_DISK] = PLUGIN_VOLUME_RESTRICTIONS,
		[REASON_VOLUMES + VOLUMES_IN_USE] = PLUGIN_VOLUME_RESTRICTIONS,
		[REASON_VOLUMES + VOLUMES_COUNT] = PLUGIN_NODE_VOLUME_LIMITS,
		[REASON_VOLUMES + VOLUMES_AFFINITY] = PLUGIN_VOLUME_BINDING,
		[REASON_VOLUMES + VOLUMES_NONE] = PLUGIN_VOLUME_BINDING,
		[REASON_VOLUMES + VOLUMES_SPACE] = PLUGIN_VOLUME_BINDING,
		[REASON_VOLUMES + VOLUMES_MISSING] = PLUGIN_VOLUME_BINDING,
		[REASON_VOLUMES + VOLUMES_ZONE] = PLUGIN_VOLUME_ZONE,
		[REASON_SPREAD] = PLUGIN_POD_TOPOLOGY_SPREAD,
		[REASON_SPREAD_LABEL] = PLUGIN_POD_TOPOLOGY_SPREAD,
		[REASON_POD_AFFINITY] = PLUGIN_INTER_POD_AFFINITY,
		[REASON_POD_ANTI_AFFINITY] = PLUGIN_INTER_POD_AFFINITY,
		[REASON_EXISTING_ANTI_AFFINITY] = PLUGIN_INTER_POD_AFFINITY,
		[REASON_KVM_MISSING] = PLUGIN_WORKING_KVM,
		[REASON_KVM_API_MISMATCH] = PLUGIN_WORKING_KVM,
		[REASON_KVM_CREATE_FAILED] = PLUGIN_WORKING_KVM,
		[REASON_KVM_RUN_FAILED] = PLUGIN_WORKING_KVM,
		[REASON_MEMORY_USED] = PLUGIN_MEMORY_THERE,
	};

	return reason < REASON_OTHER ? plugins[reason]
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
		[PLUGIN_WORKING_KVM] = "WorkingKVM",
		[PLUGIN_MEMORY_THERE] = "MemoryThere",
	};

	return names[plugin];
}
