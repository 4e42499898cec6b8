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
