#include "scheduler/cache/cache.h"

bool cache_remove_nominated(struct cache *cache, const char *uid)
{
	struct pod *pod = map_remove(&cache->nominated_pods, uid);

	if (pod != NULL) {
		cluster_remove_nominated(&cache->cluster, pod);
		pod_free(pod);
	}
	return pod != NULL;
}

void cache_put_nominated(struct cache *cache, struct pod *pod)
{
	(void)cache_remove_nominated(cache, pod->uid);
	(void)map_put(&cache->nominated_pods, pod->uid, pod);
	cluster_add_nominated(&cache->cluster, pod);
}

size_t cache_vms(const struct cache *cache)
{
	size_t count = 0;

	for (size_t i = 0; i < cache->cluster.count; i++) {
		count += cache->cluster.nodes[i]->vms.count;
	}
	return count;
}

size_t cache_fresh_loads(const struct cache *cache, int64_t now_us)
{
	size_t fresh = 0;

	for (size_t i = 0; i < cache->cluster.count; i++) {
		if (node_metrics_is_fresh(&cache->cluster.nodes[i]->metrics,
			    now_us)) {
			fresh++;
		}
	}
	return fresh;
}
