#include "scheduler/filter/nominated_pods.h"

#include <string.h>

#include "kube/time.h"

static bool counts(const struct pod *nominated, const struct pod *pod,
	const struct node *node, struct behaviours behaviours)
{
	return nominated->priority >= pod->priority &&
		(!nominated->is_gated ||
			behaviours_have(behaviours,
				BEHAVIOUR_GATED_NOMINATIONS)) &&
		strcmp(nominated->nominated_node, node->name) == 0 &&
		strcmp(nominated->uid, pod->uid) != 0;
}

/* Skipped affinity stays skipped, as upstream. */
static void count(struct prefilter *prefilter, const struct pod *nominated,
	const struct node *node, int sign)
{
	affinity_count_pod(&prefilter->affinity, prefilter->cluster,
		&(struct pod_on_node){ nominated, node }, sign);
	spread_count_pod(&prefilter->spread, nominated, node, sign);
	volumes_count_pod(&prefilter->volumes, nominated, sign);
}

/* Adds the pods to the node and to the counts of the prefilter, or removes them
 * with sign -1. Returns the number of pods. */
static size_t count_all(struct prefilter *prefilter, struct node *node,
	int sign)
{
	const struct cluster *cluster = prefilter->cluster;
	size_t counted = 0;

	for (size_t i = 0; i < cluster->nominated_count; i++) {
		const struct pod *nominated = cluster->nominated_pods[i];

		if (!counts(nominated, prefilter->pod, node,
			    cluster->behaviours)) {
			continue;
		}
		if (sign > 0) {
			node_occupy(node, nominated, TIME_LONG_AGO);
		} else {
			node_vacate(node, nominated);
		}
		count(prefilter, nominated, node, sign);
		counted++;
	}
	return counted;
}

uint64_t nominated_pods_filter(struct prefilter *prefilter, struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	uint64_t reasons = 0;

	if (count_all(prefilter, node, 1) > 0) {
		reasons = filter_node(prefilter, node, options, now_us);
		(void)count_all(prefilter, node, -1);
	}
	return reasons != 0 ? reasons
			    : filter_node(prefilter, node, options, now_us);
}
