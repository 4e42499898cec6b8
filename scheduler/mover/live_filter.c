#include "scheduler/mover/live_filter.h"

#include <stdio.h>
#include <string.h>

void live_filter_begin(struct live_filter *filter, int64_t now_us)
{
	filter->uid[0] = '\0';
	filter->now_us = now_us;
}

static void prepare(struct live_filter *filter, const struct pod *pod)
{
	if (strcmp(filter->uid, pod->uid) == 0) {
		return;
	}
	(void)snprintf(filter->uid, sizeof(filter->uid), "%s", pod->uid);
	move_filter_prepare(&filter->filter, &filter->cache->cluster, pod,
		MOVE_FILTER_MOVE);
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

bool live_filter_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	static const struct filter_options options = FILTER_DEFAULTS;
	struct live_filter *filter = owner;
	const struct pod *pod = cache_pod(filter->cache, vm->pod->uid);
	const struct node *node = cache_node(filter->cache, target->node->name);

	if (pod == NULL || node == NULL ||
		strcmp(pod->node_name, node->name) == 0) {
		return false;
	}
	prepare(filter, pod);
	return !move_filter_is_avoided(&filter->filter, node, filter->now_us) &&
		move_filter_node(&filter->filter, changeable(filter, node),
			&options, filter->now_us) == 0;
}

void live_filter_fini(struct live_filter *filter)
{
	move_filter_fini(&filter->filter);
}
