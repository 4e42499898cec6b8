#include "scheduler/cache/cache.h"

#include "lib/memory.h"
#include "scheduler/cache/reservations.h"

#include <stdlib.h>
#include <string.h>

/* A pod that counts on a node, by what the API server or we ourselves said. */
struct placed {
	struct pod *pod; /* owned */
	char *node;	 /* owned; its name */
	int64_t bound_us;
	bool is_assumed;
	bool is_strange; /* in the cache's strangers */
	TAILQ_ENTRY(placed) link;
};

struct cached_node {
	struct node *node; /* the cluster's */
	uint64_t digest;   /* of what may let a waiting pod fit */
};

/* The newest load of a node, kept so that a Node that appears later has it. */
struct known_load {
	struct node_load load;
	int64_t sample_us;
	int64_t seen_us; /* that, or when it came if that is earlier */
};

static void placed_free(struct placed *placed)
{
	if (placed != NULL) {
		pod_free(placed->pod);
		free(placed->node);
		free(placed);
	}
}

static void known_load_free(struct known_load *known)
{
	if (known != NULL) {
		node_load_fini(&known->load);
		free(known);
	}
}

void cache_init(struct cache *cache)
{
	*cache = (struct cache){ .names = names_new() };
	cluster_init(&cache->cluster, cache->names);
	TAILQ_INIT(&cache->strangers);
}

void cache_fini(struct cache *cache)
{
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		placed_free(value);
	}
	at = 0;
	while (map_next(&cache->loads, &at, NULL, &value)) {
		known_load_free(value);
	}
	at = 0;
	while (map_next(&cache->nodes, &at, NULL, &value)) {
		free(value);
	}
	cluster_fini(&cache->cluster);
	at = 0;
	while (map_next(&cache->nominees, &at, NULL, &value)) {
		pod_free(value);
	}
	places_fini(cache);
	map_fini(&cache->nominees);
	map_fini(&cache->pods);
	map_fini(&cache->loads);
	map_fini(&cache->nodes);
	names_free(cache->names);
	*cache = (struct cache){ 0 };
}

/* ---- nodes ---- */

static struct node *find_node(const struct cache *cache, const char *name)
{
	const struct cached_node *cached = map_get(&cache->nodes, name);

	return cached == NULL ? NULL : cached->node;
}

const struct node *cache_node(const struct cache *cache, const char *name)
{
	return find_node(cache, name);
}

/* FNV-1a over keys and texts; equal parts give equal digests, which is all it
 * is for. */
static uint64_t digest_text(uint64_t digest, const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		digest = (digest ^ (unsigned char)*text) * 1099511628211U;
	}
	return digest * 31 + 1;
}

static uint64_t digest_value(uint64_t digest, const struct value *value)
{
	const struct value *v;

	digest = digest_text(digest, value_text(value));
	digest = digest * 2 + value_true(value);
	for (v = value_first(value); v != NULL; v = value_next(v)) {
		digest = digest_text(digest, value_key(v));
		digest = digest_value(digest, v);
	}
	return digest;
}

/* Of what may let a waiting pod fit; heartbeats change none of it. */
static uint64_t digest_node(const struct value *object)
{
	static const char *const parts[] = { "metadata/labels", "spec/taints",
		"spec/unschedulable", "status/allocatable" };
	uint64_t digest = 14695981039346656037U;

	for (size_t i = 0; i < count_of(parts); i++) {
		digest = digest_value(digest, value_at(object, parts[i]));
	}
	return digest;
}

static void add_pods_of(struct cache *cache, struct node *node)
{
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		struct placed *placed = value;

		if (strcmp(placed->node, node->name) == 0) {
			cluster_place(&cache->cluster, node, placed->pod,
				placed->bound_us);
		}
	}
}

static void add_node(struct cache *cache, struct node *node, uint64_t digest,
	int64_t now_us)
{
	struct cached_node *cached = xcalloc(1, sizeof(*cached));
	struct known_load *known = map_get(&cache->loads, node->name);

	cluster_add_node(&cache->cluster, node);
	*cached = (struct cached_node){ node, digest };
	(void)map_put(&cache->nodes, node->name, cached);
	add_pods_of(cache, node);
	if (known != NULL) {
		node_set_load(node, &known->load, known->sample_us, now_us);
	}
}

int cache_put_node(struct cache *cache, bool *changed,
	const struct value *object, int64_t now_us, struct error *err)
{
	const char *name = value_text_at(object, "metadata/name", "");
	struct cached_node *cached = map_get(&cache->nodes, name);
	uint64_t digest = digest_node(object);
	struct node *node;
	int r;

	if (cached == NULL) {
		r = node_new(&node, cache->names, object, err);
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
	cluster_remove_node(&cache->cluster, cached->node);
	free(cached);
}

/* ---- pods ---- */

/* What was last measured of it counts at once: without that, a VM whose pod
 * changes would look as if it were on its way until the next load. */
static void place(struct cache *cache, struct placed *placed)
{
	struct node *node = find_node(cache, placed->node);
	const struct known_load *known = map_get(&cache->loads, placed->node);

	if (node != NULL) {
		cluster_place(&cache->cluster, node, placed->pod,
			placed->bound_us);
	}
	if (node != NULL && known != NULL && placed->pod->is_vm) {
		node_vms_take_one(&node->vms, placed->pod->uid, &known->load,
			known->seen_us);
	}
	(void)map_put(&cache->pods, placed->pod->uid, placed);
}

static struct placed *unplace(struct cache *cache, const char *uid)
{
	struct placed *placed = map_remove(&cache->pods, uid);
	struct node *node;

	if (placed == NULL) {
		return NULL;
	}
	if (placed->is_strange) {
		TAILQ_REMOVE(&cache->strangers, placed, link);
	}
	node = find_node(cache, placed->node);
	if (node != NULL) {
		const struct model_vm *model = node_vms_model(&node->vms, uid);

		if (model != NULL) {
			placed->pod->past = model->past;
			placed->pod->learned_us = model->learned_us;
		}
		cluster_unplace(&cache->cluster, node, placed->pod);
	}
	return placed;
}

void cache_put_pod(struct cache *cache, struct pod *pod, int64_t bound_us)
{
	struct placed *old = unplace(cache, pod->uid);
	struct placed *placed = xcalloc(1, sizeof(*placed));
	bool is_strange = pod->is_vm && *pod->vm_name != '\0' &&
		(old == NULL || old->is_strange);

	/* We know better than the API's seconds when we bound it. */
	if (old != NULL && strcmp(old->node, pod->node_name) == 0) {
		bound_us = old->bound_us;
	}
	/* The pod's text says nothing of what was learned of its VM. */
	if (old != NULL) {
		pod->past = old->pod->past;
		pod->learned_us = old->pod->learned_us;
	}
	placed_free(old);
	*placed = (struct placed){
		.pod = pod,
		.node = xstrdup(pod->node_name),
		.bound_us = bound_us,
		.is_strange = is_strange,
	};
	if (is_strange) {
		TAILQ_INSERT_TAIL(&cache->strangers, placed, link);
	}
	place(cache, placed);
}

const struct pod *cache_take_stranger(struct cache *cache)
{
	struct placed *placed = TAILQ_FIRST(&cache->strangers);

	if (placed == NULL) {
		return NULL;
	}
	TAILQ_REMOVE(&cache->strangers, placed, link);
	placed->is_strange = false;
	return placed->pod;
}

void cache_teach(struct cache *cache, const char *uid,
	const struct vm_profile *past)
{
	const struct placed *placed = map_get(&cache->pods, uid);
	struct node *node =
		placed == NULL ? NULL : find_node(cache, placed->node);

	if (node != NULL) {
		node_vms_teach(&node->vms, uid, past);
	}
}

bool cache_remove_nominee(struct cache *cache, const char *uid)
{
	struct pod *pod = map_remove(&cache->nominees, uid);

	if (pod != NULL) {
		cluster_unnominate(&cache->cluster, pod);
		pod_free(pod);
	}
	return pod != NULL;
}

void cache_put_nominee(struct cache *cache, struct pod *pod)
{
	(void)cache_remove_nominee(cache, pod->uid);
	(void)map_put(&cache->nominees, pod->uid, pod);
	cluster_nominate(&cache->cluster, pod);
}

bool cache_remove_pod(struct cache *cache, const char *uid)
{
	struct placed *placed = unplace(cache, uid);

	placed_free(placed);
	return placed != NULL;
}

struct pod *cache_take_pod(struct cache *cache, const char *uid,
	int64_t *bound_us)
{
	struct placed *placed = unplace(cache, uid);
	struct pod *pod;

	if (placed == NULL) {
		return NULL;
	}
	*bound_us = placed->bound_us;
	pod = take_ptr(placed->pod);
	placed_free(placed);
	return pod;
}

void cache_assume(struct cache *cache, struct pod *pod, const char *node,
	int64_t now_us)
{
	struct placed *placed = xcalloc(1, sizeof(*placed));

	placed_free(unplace(cache, pod->uid));
	*placed = (struct placed){
		.pod = pod,
		.node = xstrdup(node),
		.bound_us = now_us,
		.is_assumed = true,
	};
	place(cache, placed);
}

bool cache_is_assumed(const struct cache *cache, const char *uid)
{
	const struct placed *placed = map_get(&cache->pods, uid);

	return placed != NULL && placed->is_assumed;
}

size_t cache_assumed(const struct cache *cache)
{
	size_t assumed = 0;
	size_t at = 0;
	void *value;

	while (map_next(&cache->pods, &at, NULL, &value)) {
		const struct placed *placed = value;

		assumed += placed->is_assumed;
	}
	return assumed;
}

const struct pod *cache_pod(const struct cache *cache, const char *uid)
{
	const struct placed *placed = map_get(&cache->pods, uid);

	return placed == NULL ? NULL : placed->pod;
}

struct pod *cache_forget(struct cache *cache, const char *uid)
{
	struct placed *placed;
	struct pod *pod;

	if (!cache_is_assumed(cache, uid)) {
		return NULL;
	}
	placed = unplace(cache, uid);
	pod = take_ptr(placed->pod);
	placed_free(placed);
	return pod;
}

/* ---- loads ---- */

void cache_put_load(struct cache *cache, bool *changed,
	const struct node_load *load, int64_t sample_us, int64_t now_us)
{
	struct known_load *known = map_get(&cache->loads, load->name);
	struct node *node = find_node(cache, load->name);

	*changed = known == NULL || known->load.kvm_state != load->kvm_state;
	if (known == NULL) {
		known = xcalloc(1, sizeof(*known));
		(void)map_put(&cache->loads, load->name, known);
	} else if (sample_us < known->sample_us) {
		*changed = false;
		return;
	}
	node_load_fini(&known->load);
	node_load_copy(&known->load, load);
	known->sample_us = sample_us;
	known->seen_us = sample_us < now_us ? sample_us : now_us;
	if (node != NULL) {
		node_set_load(node, load, sample_us, now_us);
	}
}

void cache_reject(struct cache *cache, const char *node, int64_t now_us)
{
	struct node *found = find_node(cache, node);

	if (found != NULL) {
		found->rejected_us = now_us;
	}
}

size_t cache_fresh_loads(const struct cache *cache, int64_t now_us)
{
	size_t fresh = 0;

	for (size_t i = 0; i < cache->cluster.count; i++) {
		if (measure_is_fresh(&cache->cluster.nodes[i]->measure,
			    now_us)) {
			fresh++;
		}
	}
	return fresh;
}
