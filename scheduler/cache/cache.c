#include "scheduler/cache/cache.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "scheduler/cache/cache_private.h"
#include "scheduler/cache/node_digest.h"

#include <stdlib.h>
#include <string.h>

struct cached_node {
	struct node *node; /* the cluster's */
	uint64_t digest;   /* of what may let a pending pod fit */
};

static void cached_pod_free(struct cached_pod *cached)
{
	if (cached != NULL) {
		pod_free(cached->pod);
		free(cached->node);
		free(cached);
	}
}

static void cached_load_free(struct cached_load *cached)
{
	if (cached != NULL) {
		node_load_fini(&cached->load);
		free(cached);
	}
}

void cache_init(struct cache *cache)
{
	*cache = (struct cache){ .interner = interner_new() };
	cluster_init(&cache->cluster, cache->interner);
	unprofiled_init(&cache->unprofiled);
}

void cache_fini(struct cache *cache)
{
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		cached_pod_free(value);
	}
	at = 0;
	while (map_next(&cache->loads, &at, NULL, &value)) {
		cached_load_free(value);
	}
	at = 0;
	while (map_next(&cache->nodes, &at, NULL, &value)) {
		free(value);
	}
	cluster_fini(&cache->cluster);
	at = 0;
	while (map_next(&cache->nominated_pods, &at, NULL, &value)) {
		pod_free(value);
	}
	map_fini(&cache->nominated_pods);
	vm_index_fini(&cache->vms);
	unprofiled_fini(&cache->unprofiled);
	map_fini(&cache->pods);
	map_fini(&cache->loads);
	map_fini(&cache->nodes);
	interner_free(cache->interner);
	*cache = (struct cache){ 0 };
}

/* ---- nodes ---- */

struct node *cache_find_node(const struct cache *cache, const char *name)
{
	const struct cached_node *cached = map_get(&cache->nodes, name);

	return cached == NULL ? NULL : cached->node;
}

const struct node *cache_node(const struct cache *cache, const char *name)
{
	return cache_find_node(cache, name);
}

static void add_pods_of(struct cache *cache, struct node *node)
{
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		struct cached_pod *cached = value;

		if (strcmp(cached->node, node->name) == 0) {
			cluster_add_pod(&cache->cluster, node, cached->pod,
				cached->bound_us);
		}
	}
}

/* Announcements name times of the day. Someone may set the wall clock. */
static int64_t wall_offset_us(void)
{
	return (int64_t)clock_wall_us() - (int64_t)clock_monotonic_us();
}

static void add_node(struct cache *cache, struct node *node, uint64_t digest,
	int64_t now_us)
{
	struct cached_node *cached = xcalloc(1, sizeof(*cached));
	struct cached_load *last = map_get(&cache->loads, node->name);

	cluster_add_node(&cache->cluster, node);
	*cached = (struct cached_node){ node, digest };
	(void)map_put(&cache->nodes, node->name, cached);
	add_pods_of(cache, node);
	node_set_wall_offset(node, wall_offset_us());
	if (last != NULL) {
		node_set_load(node, &last->load, last->sample_us, now_us);
	}
}

int cache_put_node(struct cache *cache, bool *changed,
	const struct json_value *object, int64_t now_us, struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	struct cached_node *cached = map_get(&cache->nodes, name);
	uint64_t digest = node_digest(object);
	struct node *node;
	int r;

	if (cached == NULL) {
		r = node_new(&node, cache->interner, object, err);
		if (r == 0) {
			add_node(cache, node, digest, now_us);
			*changed = true;
		}
		return r;
	}
	r = node_update(cached->node, object, err);
	if (r == 0) {
		*changed = cached->digest != digest;
		cached->digest = digest;
	}
	return r;
}

void cache_remove_node(struct cache *cache, const char *name)
{
	struct cached_node *cached = map_remove(&cache->nodes, name);

	if (cached == NULL) {
		return;
	}
	cached_load_free(map_remove(&cache->loads, name));
	cluster_remove_node(&cache->cluster, cached->node);
	free(cached);
}

void cache_set_complete(struct cache *cache)
{
	size_t at = 0;
	const char *name;
	void *load;

	cache->is_complete = true;
	while (map_next(&cache->loads, &at, &name, &load)) {
		if (cache_find_node(cache, name) == NULL) {
			cached_load_free(map_remove(&cache->loads, name));
		}
	}
}

/* ---- pods ---- */

static struct cached_pod *take_out(struct cache *cache, const char *uid)
{
	struct cached_pod *cached = map_remove(&cache->pods, uid);

	if (cached == NULL) {
		return NULL;
	}
	if (cached->is_unprofiled) {
		unprofiled_remove(&cache->unprofiled, &cached->unprofiled);
	}
	cache_uncount_pod(cache, cached);
	return cached;
}

void cache_put_pod(struct cache *cache, struct pod *pod, int64_t bound_us)
{
	struct cached_pod *old = take_out(cache, pod->uid);
	struct cached_pod *cached = xcalloc(1, sizeof(*cached));
	bool is_unprofiled = pod->is_vm && *pod->vm_name != '\0' &&
		(old == NULL || old->is_unprofiled);

	/* The API server's time has whole seconds; ours is exact. */
	if (old != NULL && strcmp(old->node, pod->node_name) == 0) {
		bound_us = old->bound_us;
	}
	/* The pod object does not hold what was observed of its VM. */
	if (old != NULL) {
		pod->usage = old->pod->usage;
		pod->observed_us = old->pod->observed_us;
	}
	cached_pod_free(old);
	*cached = (struct cached_pod){
		.pod = pod,
		.node = xstrdup(pod->node_name),
		.bound_us = bound_us,
		.is_unprofiled = is_unprofiled,
	};
	if (is_unprofiled) {
		cached->unprofiled.node = cached->node;
		cached->unprofiled.pod = cached;
		unprofiled_add(&cache->unprofiled, &cached->unprofiled);
	}
	cache_count_pod(cache, cached);
}

const struct pod *cache_next_unprofiled(struct cache *cache)
{
	struct cached_pod *cached = unprofiled_take(&cache->unprofiled);

	if (cached == NULL) {
		return NULL;
	}
	cached->is_unprofiled = false;
	return cached->pod;
}

void cache_update_profile(struct cache *cache, const char *uid,
	const struct usage *usage)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);
	struct node *node =
		cached == NULL ? NULL : cache_find_node(cache, cached->node);

	if (node != NULL) {
		node_vms_update_profile(&node->vms, uid, usage);
	}
}

bool cache_remove_pod(struct cache *cache, const char *uid)
{
	struct cached_pod *cached = take_out(cache, uid);

	cached_pod_free(cached);
	return cached != NULL;
}

struct pod *cache_take_pod(struct cache *cache, const char *uid,
	int64_t *bound_us)
{
	struct cached_pod *cached = take_out(cache, uid);
	struct pod *pod;

	if (cached == NULL) {
		return NULL;
	}
	*bound_us = cached->bound_us;
	pod = take_ptr(cached->pod);
	cached_pod_free(cached);
	return pod;
}

void cache_assume(struct cache *cache, struct pod *pod, const char *node,
	int64_t now_us)
{
	struct cached_pod *cached = xcalloc(1, sizeof(*cached));

	cached_pod_free(take_out(cache, pod->uid));
	*cached = (struct cached_pod){
		.pod = pod,
		.node = xstrdup(node),
		.bound_us = now_us,
		.is_assumed = true,
	};
	cache_count_pod(cache, cached);
}

bool cache_is_assumed(const struct cache *cache, const char *uid)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);

	return cached != NULL && cached->is_assumed;
}

size_t cache_assumed(const struct cache *cache)
{
	size_t assumed = 0;
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		const struct cached_pod *cached = value;

		assumed += cached->is_assumed;
	}
	return assumed;
}

const struct pod *cache_pod(const struct cache *cache, const char *uid)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);

	return cached == NULL ? NULL : cached->pod;
}

const struct pod *cache_newcomer(const struct cache *cache, const char *node,
	int64_t since_us)
{
	const struct pod *found = NULL;
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		const struct cached_pod *cached = value;

		if (cached->bound_us > since_us &&
			cached->pod->original == NULL &&
			strcmp(cached->node, node) == 0 &&
			(found == NULL ||
				cached->pod->requests.memory_bytes >
					found->requests.memory_bytes)) {
			found = cached->pod;
		}
	}
	return found;
}

struct pod *cache_forget(struct cache *cache, const char *uid)
{
	int64_t bound_us;

	return cache_is_assumed(cache, uid)
		? cache_take_pod(cache, uid, &bound_us)
		: NULL;
}

/* ---- loads ---- */

void cache_put_load(struct cache *cache, bool *changed,
	const struct node_load *load, int64_t sample_us, int64_t now_us)
{
	struct cached_load *last = map_get(&cache->loads, load->name);
	struct node *node = cache_find_node(cache, load->name);

	*changed = false;
	if (node == NULL && cache->is_complete) {
		return;
	}
	*changed = last == NULL || last->load.kvm_state != load->kvm_state;
	if (last == NULL) {
		last = xcalloc(1, sizeof(*last));
		(void)map_put(&cache->loads, load->name, last);
	} else if (sample_us < last->sample_us) {
		*changed = false;
		return;
	}
	node_load_fini(&last->load);
	node_load_copy(&last->load, load);
	last->sample_us = sample_us;
	last->seen_us = sample_us < now_us ? sample_us : now_us;
	if (node != NULL) {
		node_set_wall_offset(node, wall_offset_us());
		node_set_load(node, load, sample_us, now_us);
	}
}

void cache_reject(struct cache *cache, const char *node, uint32_t vm,
	int64_t now_us)
{
	struct node *found = cache_find_node(cache, node);

	if (found != NULL) {
		rejections_add(&found->rejections, vm, now_us);
	}
}

/* ---- migrations ---- */

const struct pod *cache_migration_source(const struct cache *cache,
	const struct pod *target)
{
	return vm_index_source(&cache->vms, target);
}

struct usage cache_usage(const struct cache *cache, const char *uid)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);
	const struct model_vm *model = NULL;
	const struct node *node;

	if (cached == NULL) {
		return (struct usage){ 0 };
	}
	node = cache_find_node(cache, cached->node);
	if (node != NULL) {
		model = node_vms_model(&node->vms, uid);
	}
	return model != NULL ? model->usage : cached->pod->usage;
}

bool cache_put_copy(struct cache *cache, const char *uid, const char *copy_uid,
	const char *node, int64_t now_us)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);
	struct cached_pod *copy;

	if (cached == NULL) {
		return false;
	}
	cached_pod_free(take_out(cache, copy_uid));
	copy = xcalloc(1, sizeof(*copy));
	copy->pod = pod_copy(cached->pod, copy_uid, node);
	copy->pod->usage = cache_usage(cache, uid);
	copy->pod->observed_us = 0;
	copy->node = xstrdup(node);
	copy->bound_us = now_us;
	cache_count_pod(cache, copy);
	return true;
}
