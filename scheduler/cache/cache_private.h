/* The parts of the cache that its files share. */
#pragma once

#include "scheduler/cache/cache.h"

/* A pod that counts on a node: the API server reports it there, or it is
 * assumed. */
struct cached_pod {
	struct pod *pod; /* owned */
	char *node;	 /* owned; its name */
	int64_t bound_us;
	bool is_assumed;
	bool is_unprofiled; /* in the cache's list */
	struct unprofiled_pod unprofiled;
};

/* The newest load of a node, which may arrive before the Node object. */
struct cached_load {
	struct node_load load;
	int64_t sample_us;
	int64_t seen_us; /* sample_us or the arrival, the earlier one */
};

/* NULL: no such node. */
struct node *cache_find_node(const struct cache *cache, const char *name);

/* The pod counts on its node from now on, or no longer, and so do or do not
 * other pods that claim its VMI. */
void cache_count_pod(struct cache *cache, struct cached_pod *cached);
void cache_uncount_pod(struct cache *cache, struct cached_pod *cached);
