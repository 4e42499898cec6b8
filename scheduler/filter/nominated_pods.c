#include "scheduler/filter/nominated_pods.h"

#include <string.h>

#include "kube/time.h"

static bool counts(const struct pod *nominee, const struct pod *pod,
	const struct node *node)
{
	return nominee->priority >= pod->priority &&
		strcmp(nominee->nominated_node, node->name) == 0 &&
		strcmp(nominee->uid, pod->uid) != 0;
}

/* What the prefilter counted, with or again without the nominee. Where affinity
 * had nothing to ask before, it asks nothing now, as upstream. */
static void count(struct prefilter *prefilter, const struct pod *nominee,
	const struct node *node, int sign)
{
	affinity_count_pod(&prefilter->affinity, prefilter->cluster,
		&(struct resident){ nominee, node }, sign);
	spread_count_pod(&prefilter->spread, nominee, node, sign);
	volumes_count_pod(&prefilter->volumes, nominee, sign);
}

/* How many there are. */
static size_t add_all(struct prefilter *prefilter, struct node *node)
{
	const struct cluster *cluster = prefilter->cluster;
	size_t added = 0;

	for (size_t i = 0; i < cluster->nominee_count; i++) {
		const struct pod *nominee = cluster->nominees[i];

		if (counts(nominee, prefilter->pod, node)) {
			node_add_pod(node, nominee, MOMENT_LONG_AGO);
			count(prefilter, nominee, node, 1);
			added++;
		}
	}
	return added;
}

static void remove_all(struct prefilter *prefilter, struct node *node)
{
	const struct cluster *cluster = prefilter->cluster;

	for (size_t i = 0; i < cluster->nominee_count; i++) {
		const struct pod *nominee = cluster->nominees[i];

		if (counts(nominee, prefilter->pod, node)) {
			node_remove_pod(node, nominee);
			count(prefilter, nominee, node, -1);
		}
	}
}

uint64_t nominees_filter(struct prefilter *prefilter, struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	uint64_t reasons = 0;

	if (add_all(prefilter, node) > 0) {
		reasons = filter_node(prefilter, node, options, now_us);
		remove_all(prefilter, node);
	}
	return reasons != 0 ? reasons
			    : filter_node(prefilter, node, options, now_us);
}
