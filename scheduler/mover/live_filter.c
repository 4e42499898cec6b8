#include "scheduler/mover/live_filter.h"

#include <stdio.h>
#include <string.h>

enum { WHY_MAX = 1024 };

void live_filter_begin(struct live_filter *filter, int64_t now_us)
{
	filter->uid[0] = '\0';
	filter->now_us = now_us;
}

/* False: nobody knows where KubeVirt's next pod of the VM may run. */
static bool prepare(struct live_filter *filter, const struct pod *pod,
	const struct node *source)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	if (strcmp(filter->uid, pod->uid) == 0) {
		return filter->is_known;
	}
	(void)snprintf(filter->uid, sizeof(filter->uid), "%s", pod->uid);
	next_pod_fini(&filter->next);
	filter->is_known = source != NULL &&
		kubevirt_next_pod(filter->kubevirt, &filter->next, pod,
			&source->labels, &why);
	if (filter->is_known) {
		struct pod asked = *pod;

		asked.migrated = &filter->next.pod;
		move_filter_prepare(&filter->filter, &filter->cache->cluster,
			&asked, MOVE_FILTER_MOVE);
	}
	return filter->is_known;
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

/* The filters of the prepared pod. */
static bool admits(struct live_filter *filter, const struct node *node)
{
	static const struct filter_options options = FILTER_DEFAULTS;

	filter->reasons = move_filter_node(&filter->filter,
		changeable(filter, node), &options, filter->now_us);
	return filter->reasons == 0;
}

bool live_filter_may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct live_filter *filter = owner;
	const struct pod *pod = cache_pod(filter->cache, vm->pod->uid);
	const struct node *node = cache_node(filter->cache, target->node->name);

	filter->reasons = 0;
	if (pod == NULL || node == NULL ||
		strcmp(pod->node_name, node->name) == 0) {
		return false;
	}
	return prepare(filter, pod,
		       cache_node(filter->cache, pod->node_name)) &&
		!move_filter_is_avoided(&filter->filter, node,
			filter->now_us) &&
		admits(filter, node);
}

bool live_filter_unmet(const struct live_filter *filter,
	const struct fleet_node *target, struct host_demand *out)
{
	const struct node *node = cache_node(filter->cache, target->node->name);

	return filter->reasons == FILTER_BIT(REASON_AFFINITY) && node != NULL &&
		host_demand_unmet(out, &filter->filter.pod, node);
}

void live_filter_fini(struct live_filter *filter)
{
	move_filter_fini(&filter->filter);
	next_pod_fini(&filter->next);
}
