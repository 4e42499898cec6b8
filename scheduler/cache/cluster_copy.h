/* A copy of the cluster that another thread may change and read.
 *
 * It is made and freed in steps, so that the event loop is never held. The
 * cluster changes between two steps: a pod that is bound or deleted meanwhile
 * may be missing or still there. Pods, storage objects and namespaces share
 * their parts with the originals, which live until the copy is freed; the event
 * loop alone counts these references, and so alone calls pod_copy(), pod_free()
 * and these functions. The interner may be used by both threads. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: none. */
struct cluster_copy {
	struct cluster cluster; /* complete after the last step */
	const struct cache *cache;
	char **names; /* owned; of the nodes to copy */
	size_t name_count, next;
	struct cluster_walk walk; /* of the objects beside nodes and pods */
	struct map nominated;	  /* uid -> struct pod, owned */
	struct map_walk nominated_walk;
	bool is_freeing;
	struct pod **pods; /* owned; those of the copy's nodes */
	size_t pod_count, pod_capacity;
};

/* Borrows the cache until all is copied. */
void cluster_copy_begin(struct cluster_copy *copy, const struct cache *cache);

/* A step: a node with its pods, or some hundred other objects. It takes less
 * than 1 ms at 30 VMs a node. False: all is copied. */
bool cluster_copy_next(struct cluster_copy *copy);

/* Frees a part. False: all is freed, and the copy is zeroed. The cluster must
 * not be used any more after the first call. A copy that is not complete may be
 * freed, and a zeroed one; all copies before the cache. */
bool cluster_copy_free_next(struct cluster_copy *copy);
