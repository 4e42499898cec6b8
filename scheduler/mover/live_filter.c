#include "scheduler/mover/live_filter.h"

#include "lib/memory.h"
#include "scheduler/cluster/vm_failures.h"
#include "scheduler/filter/filter.h"
#include "scheduler/filter/nominated_pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void live_filter_begin(struct live_filter *filter, int64_t now_us)
{
	filter->uid[0] = '\0';
	filter->now_us = now_us;
}

static uint32_t id_of(const struct live_filter *filter, const char *text)
{
	uint32_t id = interner_hold(filter->cache->interner, text);

	interner_drop(filter->cache->interner, id);
	return id;
}

static void free_slots(struct live_filter *filter)
{
	free(filter->slots);
	filter->slots = NULL;
	filter->hostname = NULL;
}

static void free_hostname(struct live_filter *filter)
{
	struct labels *selector = &filter->pod.node_selector;
	uint32_t key = id_of(filter, "kubernetes.io/hostname");

	free_slots(filter);
	if (labels_get(selector, key) == 0 ||
		labels_get(&filter->pod.labels,
			id_of(filter, "kubevirt.io/migrationJobUID")) == 0) {
		return;
	}
	filter->slots = xmemdup(selector->slots,
		(size_t)(UINT64_C(1) << (32 - selector->shift)) *
			sizeof(*selector->slots));
	selector->slots = filter->slots;
	filter->hostname = labels_slot(selector, key);
}

/* The target pod is a copy of the pod without its node. */
static void prepare(struct live_filter *filter, const struct pod *pod)
{
	static char nowhere[1];

	if (strcmp(filter->uid, pod->uid) == 0) {
		return;
	}
	(void)snprintf(filter->uid, sizeof(filter->uid), "%s", pod->uid);
	filter->pod = *pod;
	filter->pod.node_name = nowhere;
	free_hostname(filter);
	prefilter_run(&filter->prefilter, &filter->pod,
		&filter->cache->cluster);
}

/* More than one VM was rejected lately. */
static bool is_rejecting(const struct node *node, int64_t now_us)
{
	return rejections_cost(&node->rejections, now_us) >
		LIVE_FILTER_REJECTIONS;
}

/* The same node; its nominated pods are added for a moment and removed. */
static struct node *changeable(const struct live_filter *filter,
	const struct node *node)
{
	const struct cluster *cluster = &filter->cache->cluster;
	size_t i = 0;

	while (cluster->nodes[i] != node) {
		i++;
	}
	return cluster->nodes[i];
}

static bool passes(struct live_filter *filter, const struct node *node)
{
	static const struct filter_options options = FILTER_DEFAULTS;

	if (filter->cache->cluster.nominated_count > 0) {
		return nominated_pods_filter(&filter->prefilter,
			       changeable(filter, node), &options,
			       filter->now_us) == 0;
	}
	return filter_node(&filter->prefilter, node, &options,
		       filter->now_us) == 0;
}

bool live_filter_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct live_filter *filter = owner;
	const struct pod *pod = cache_pod(filter->cache, vm->pod->uid);
	const struct node *node = cache_node(filter->cache, target->node->name);

	if (pod == NULL || node == NULL || is_rejecting(node, filter->now_us) ||
		strcmp(pod->node_name, node->name) == 0 ||
		vm_failures_until(&filter->cache->cluster.failures,
			pod->namespace, pod->vm_name,
			node->name) > filter->now_us) {
		return false;
	}
	prepare(filter, pod);
	if (filter->hostname != NULL) {
		filter->hostname->value =
			labels_get(&node->labels, filter->hostname->key);
	}
	return passes(filter, node);
}

void live_filter_fini(struct live_filter *filter)
{
	prefilter_fini(&filter->prefilter);
	free_slots(filter);
}
