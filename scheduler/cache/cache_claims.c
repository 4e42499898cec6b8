/* Which pods of the cache count as VMs: see cache/vm_claims.h. */
#include "lib/memory.h"
#include "scheduler/cache/cache_private.h"

#include <string.h>

/* Applies the node's last load too. Otherwise a VM whose pod object changes
 * would count as starting until the next load. */
static void add_to_node(struct cache *cache, const struct cached_pod *cached)
{
	struct node *node = cache_find_node(cache, cached->node);
	const struct cached_load *last = map_get(&cache->loads, cached->node);

	if (node == NULL) {
		return;
	}
	cluster_add_pod(&cache->cluster, node, cached->pod, cached->bound_us);
	if (last != NULL && cached->pod->is_vm) {
		node_vms_set_load_of(&node->vms, cached->pod->uid, &last->load,
			last->seen_us);
	}
}

/* Gives the pod what its node observed of its VM. */
static void note_model(struct pod *pod, const struct node *node)
{
	const struct model_vm *model = node_vms_model(&node->vms, pod->uid);

	if (model != NULL) {
		pod->usage = model->usage;
		pod->observed_us = model->observed_us;
	}
}

static void remove_from_node(struct cache *cache,
	const struct cached_pod *cached)
{
	struct node *node = cache_find_node(cache, cached->node);

	if (node != NULL) {
		note_model(cached->pod, node);
		cluster_remove_pod(&cache->cluster, node, cached->pod);
	}
}

static bool has_claim(const struct cache *cache, const struct pod *pod)
{
	return pod->is_launcher && pod->original == NULL &&
		cache->claims.basis != VM_CLAIMS_STATED;
}

static void believe(struct cache *cache, struct cached_pod *cached,
	const struct pod_belief *belief)
{
	struct node *node = cache_find_node(cache, cached->node);

	if (node != NULL && cached->pod->is_vm && belief->is_vm) {
		pod_belief_apply(cached->pod, belief);
		node_vms_believe(&node->vms, cached->pod);
		return;
	}
	remove_from_node(cache, cached);
	pod_belief_apply(cached->pod, belief);
	add_to_node(cache, cached);
}

static struct vm_verdict verdict_on(const struct cache *cache,
	const struct vm_pods *pods, const char *namespace, const char *vmi_uid)
{
	return vm_claims_judge(&cache->claims, pods, namespace, vmi_uid);
}

void cache_judge_vmi(struct cache *cache, const char *namespace,
	const char *vmi_uid)
{
	const struct vm_pods *pods =
		vm_index_pods(&cache->vms, namespace, vmi_uid);
	struct vm_verdict verdict;

	if (pods == NULL || cache->claims.basis != VM_CLAIMS_VMIS) {
		return;
	}
	verdict = verdict_on(cache, pods, namespace, vmi_uid);
	for (size_t i = 0; i < pods->count; i++) {
		const struct pod *pod = pods->list[i];
		struct pod_belief belief = vm_verdict_of(&verdict, pod);

		if (!pod_belief_holds(pod, &belief)) {
			believe(cache, map_get(&cache->pods, pod->uid),
				&belief);
		}
	}
}

void cache_count_pod(struct cache *cache, struct cached_pod *cached)
{
	struct pod *pod = cached->pod;

	(void)map_put(&cache->pods, pod->uid, cached);
	vm_index_add(&cache->vms, pod);
	if (has_claim(cache, pod)) {
		struct vm_verdict verdict = verdict_on(cache,
			vm_index_pods(&cache->vms, pod->namespace,
				pod->vmi_uid),
			pod->namespace, pod->vmi_uid);
		struct pod_belief belief = vm_verdict_of(&verdict, pod);

		pod_belief_apply(pod, &belief);
	}
	add_to_node(cache, cached);
	cache_judge_vmi(cache, pod->namespace, pod->vmi_uid);
}

void cache_uncount_pod(struct cache *cache, struct cached_pod *cached)
{
	struct pod *pod = cached->pod;

	vm_index_remove(&cache->vms, pod);
	remove_from_node(cache, cached);
	if (has_claim(cache, pod)) {
		pod_belief_apply(pod, &pod_belief_stated);
	}
	cache_judge_vmi(cache, pod->namespace, pod->vmi_uid);
}

struct pod *cache_share_pod(const struct cache *cache, const char *uid)
{
	const struct cached_pod *cached = map_get(&cache->pods, uid);
	const struct node *node;
	struct pod *shared;

	if (cached == NULL) {
		return NULL;
	}
	shared = pod_share(cached->pod);
	node = cache_find_node(cache, cached->node);
	if (node != NULL) {
		note_model(shared, node);
	}
	return shared;
}

/* ---- what is known of the VMIs ---- */

void cache_judge_by(struct cache *cache, const struct vm_claims *claims)
{
	if (claims->basis != cache->claims.basis) {
		cache->judged = 0;
		cache->is_judged = false;
	}
	cache->claims = *claims;
}

/* One look at a VMI judges all pods that claim it, however many there are. */
static void judge_pod(struct cache *cache, struct cached_pod *cached)
{
	const struct pod *pod = cached->pod;
	struct vm_verdict verdict;

	if (cache->claims.basis == VM_CLAIMS_VMIS && *pod->vmi_uid != '\0') {
		if (pod->belief.is_unproven ||
			pod_belief_holds(pod, &pod_belief_stated)) {
			cache_judge_vmi(cache, pod->namespace, pod->vmi_uid);
		}
		return;
	}
	verdict = verdict_on(cache, NULL, pod->namespace, "");
	if (!pod_belief_holds(pod, &verdict.belief)) {
		believe(cache, cached, &verdict.belief);
	}
}

/* Pods that came since the last call may have moved all others. */
static void find_place(struct cache *cache)
{
	if (cache->judged_slots != cache->pods.slots) {
		cache->judged_slots = cache->pods.slots;
		cache->judged = 0;
	}
}

bool cache_judge_next(struct cache *cache)
{
	void *value;

	find_place(cache);
	for (unsigned i = 0; i < CACHE_JUDGED_AT_ONCE && !cache->is_judged;
		i++) {
		struct cached_pod *cached;

		if (!map_next(&cache->pods, &cache->judged, NULL, &value)) {
			cache->is_judged = true;
			return false;
		}
		cached = value;
		if (has_claim(cache, cached->pod)) {
			judge_pod(cache, cached);
		}
	}
	return !cache->is_judged;
}
