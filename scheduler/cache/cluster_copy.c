#include "scheduler/cache/cluster_copy.h"

#include "lib/memory.h"

#include <stdlib.h>

/* A step of freeing. */
enum { PODS_STEP = 32, NODES_STEP = 8, LARGE_BLOCK = 4096 };

static void *share_pod(void *value)
{
	return pod_share(value);
}

static void drop_pod(void *value, struct interner *interner)
{
	(void)interner;
	pod_free(value);
}

static const struct shared_values pod_values = { share_pod, drop_pod };

void cluster_copy_begin(struct cluster_copy *copy, const struct cache *cache)
{
	const struct cluster *from = &cache->cluster;

	*copy = (struct cluster_copy){ .cache = cache };
	cluster_init(&copy->cluster, cache->interner);
	copy->cluster.behaviours = from->behaviours;
	copy->names = xcalloc(from->count + 1, sizeof(*copy->names));
	copy->name_count = from->count;
	for (size_t i = 0; i < from->count; i++) {
		copy->names[i] = xstrdup(from->nodes[i]->name);
	}
}

static void add_pod(struct cluster_copy *copy, struct node *node,
	const struct node_pod *from)
{
	struct pod *pod = cache_share_pod(copy->cache, from->pod->uid);

	if (pod == NULL) {
		return;
	}
	copy->pods = xgrow(copy->pods, copy->pod_count, &copy->pod_capacity,
		sizeof(struct pod *));
	copy->pods[copy->pod_count++] = pod;
	cluster_add_counted_pod(&copy->cluster, node, pod, from->bound_us);
}

static void add_node(struct cluster_copy *copy, const char *name)
{
	const struct node *from = cache_node(copy->cache, name);
	struct node *node;

	if (from == NULL) {
		return;
	}
	node = node_copy(from);
	cluster_add_node(&copy->cluster, node);
	for (size_t i = 0; i < from->pod_count; i++) {
		add_pod(copy, node, &from->pods[i]);
	}
}

static void add_nominated(struct cluster_copy *copy)
{
	size_t at = 0;
	void *pod;

	while (map_next(&copy->nominated, &at, NULL, &pod)) {
		cluster_add_nominated(&copy->cluster, pod);
	}
}

bool cluster_copy_next(struct cluster_copy *copy)
{
	if (copy->next < copy->name_count) {
		add_node(copy, copy->names[copy->next++]);
		return true;
	}
	if (cluster_share_next(&copy->cluster, &copy->cache->cluster,
		    &copy->walk) ||
		shared_map_copy(&copy->nominated, &copy->cache->nominated_pods,
			&copy->nominated_walk, &pod_values,
			copy->cache->interner)) {
		return true;
	}
	add_nominated(copy);
	return false;
}

/* ---- freeing ---- */

static void begin_free(struct cluster_copy *copy)
{
	copy->is_freeing = true;
	copy->walk = (struct cluster_walk){ 0 };
	copy->nominated_walk = (struct map_walk){ 0 };
	for (size_t i = 0; i < copy->name_count; i++) {
		free(copy->names[i]);
	}
	free(take_ptr(copy->names));
}

static bool free_pods(struct cluster_copy *copy)
{
	for (int i = 0; i < PODS_STEP && copy->pod_count > 0; i++) {
		pod_free(copy->pods[--copy->pod_count]);
	}
	return copy->pod_count > 0;
}

static bool free_nodes(struct cluster *cluster)
{
	for (int i = 0; i < NODES_STEP && cluster->count > 0; i++) {
		node_free(cluster->nodes[--cluster->count]);
	}
	return cluster->count > 0;
}

/* glibc sets small blocks aside when they are freed, and joins them all at the
 * next request for a large block: 10 ms for the blocks of a whole copy. Such a
 * request at each step makes it join those of one step. */
static void join_free_blocks(void)
{
	free(xcalloc(1, LARGE_BLOCK));
}

bool cluster_copy_free_next(struct cluster_copy *copy)
{
	if (copy->cache == NULL) {
		return false;
	}
	join_free_blocks();
	if (!copy->is_freeing) {
		begin_free(copy);
		return true;
	}
	if (free_pods(copy) || free_nodes(&copy->cluster) ||
		cluster_drop_next(&copy->cluster, &copy->walk) ||
		shared_map_free(&copy->nominated, &copy->nominated_walk.at,
			&pod_values, copy->cluster.interner)) {
		return true;
	}
	cluster_fini(&copy->cluster);
	free(copy->pods);
	*copy = (struct cluster_copy){ 0 };
	return false;
}
