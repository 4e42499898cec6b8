/* The scheduler's copy of the cluster: nodes, the pods on them, and assumed
 * pods, which count on a node before the API server has confirmed the binding.
 *
 * The informers update the cache in any order. A pod whose node has no Node
 * object is kept until that appears. All times are monotonic microseconds given
 * by the caller. */
#pragma once

#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/cache/unprofiled.h"
#include "scheduler/cache/vm_claims.h"
#include "scheduler/cache/vm_index.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

struct cache {
	struct interner *interner; /* owned */
	struct cluster cluster;
	struct map nodes;	   /* name -> struct cached_node */
	struct map pods;	   /* uid -> struct cached_pod */
	struct vm_index vms;	   /* of these pods */
	struct map nominated_pods; /* uid -> struct pod, owned */
	/* Node name -> struct cached_load. Once all nodes are known, only nodes
	 * have a load, whatever names the aggregators list. */
	struct map loads;
	bool is_complete; /* all nodes are known */
	struct unprofiled unprofiled;
	struct vm_claims claims; /* which pods count as VMs */
	bool is_judged;		 /* so do those of before */
	const struct map_slot *judged_slots;
	size_t judged; /* of these slots */
};

void cache_init(struct cache *cache);
void cache_fini(struct cache *cache);

/* Adds or updates a Node. *changed: in a way that may let a pending pod fit
 * (labels, taints, allocatable, unschedulable). -EBADMSG: invalid; the cache is
 * unchanged. */
must_check int cache_put_node(struct cache *cache, bool *changed,
	const struct json_value *object, int64_t now_us, struct error *err);
void cache_remove_node(struct cache *cache, const char *name);
/* The first list of the nodes is complete. */
void cache_set_complete(struct cache *cache);

/* NULL: no such node. */
const struct node *cache_node(const struct cache *cache, const char *name);

/* Adds or updates a pod that has a node. An assumed pod is confirmed, or moves
 * if it was assumed on another node. Takes pod. */
void cache_put_pod(struct cache *cache, struct pod *pod, int64_t bound_us);

/* Adds or updates a pod of another scheduler that is nominated for a node.
 * Takes pod. */
void cache_put_nominated(struct cache *cache, struct pod *pod);
/* False: there is no such pod. */
bool cache_remove_nominated(struct cache *cache, const char *uid);

/* True if the pod counted on a node. */
bool cache_remove_pod(struct cache *cache, const char *uid);

/* Removes a pod and returns it to the caller, with the time it was bound at;
 * NULL: there is no such pod. */
struct pod *cache_take_pod(struct cache *cache, const char *uid,
	int64_t *bound_us);

/* The pod counts on the node until it is confirmed, forgotten or deleted.
 * Takes pod. */
void cache_assume(struct cache *cache, struct pod *pod, const char *node,
	int64_t now_us);

/* Removes an assumed pod and returns it to the caller; NULL: the pod is not
 * assumed, or was confirmed. */
struct pod *cache_forget(struct cache *cache, const char *uid);

bool cache_is_assumed(const struct cache *cache, const char *uid);

/* Returns the number of assumed pods. */
size_t cache_assumed(const struct cache *cache);

/* NULL: no such pod counts on a node. */
const struct pod *cache_pod(const struct cache *cache, const char *uid);

/* The pod with the largest memory request of those that came to the node after
 * since_us; copies do not count. NULL: none. Walks over all pods. */
const struct pod *cache_newcomer(const struct cache *cache, const char *node,
	int64_t since_us);

/* pod_share() of a pod that counts on a node, with what was observed of its VM
 * so far. The caller owns it; NULL: no such pod. */
struct pod *cache_share_pod(const struct cache *cache, const char *uid);

/* Returns the next pod of a running VM that another scheduler, or an earlier
 * process, bound. Returns each once, those of a node one after the other;
 * NULL: no more. The cache owns the pod. */
const struct pod *cache_next_unprofiled(struct cache *cache);

/* Sets the profile of a VM's pod. No effect without such a pod. */
void cache_update_profile(struct cache *cache, const char *uid,
	const struct usage *usage);

/* Stores a copy of a node's load unless a newer one is stored. *changed: the
 * KVM state changed, or the node had no load. */
void cache_put_load(struct cache *cache, bool *changed,
	const struct node_load *load, int64_t sample_us, int64_t now_us);

/* The node's kubelet rejected a pod. vm: rejection_hash(). */
void cache_reject(struct cache *cache, const char *node, uint32_t vm,
	int64_t now_us);

/* ---- which pods count as VMs: see cache/vm_claims.h ---- */

/* From now on pods count by this. Those of the cache do after calls of
 * cache_judge_next(). A new cache has VM_CLAIMS_STATED. */
void cache_judge_by(struct cache *cache, const struct vm_claims *claims);

/* Judges some pods again: 1,500 take some 20 ms on nodes of 150 VMs each, and
 * once a second 150,000 take 100 s. False: none is left. */
enum { CACHE_JUDGED_AT_ONCE = 1500 };
bool cache_judge_next(struct cache *cache);

/* The VMI appeared, changed or is gone: looks at the pods that claim it. */
void cache_judge_vmi(struct cache *cache, const char *namespace,
	const char *vmi_uid);

/* ---- migrations ---- */

/* The pod in which the VM of a migration's target pod runs; NULL: none. See
 * vm_index_source(). */
const struct pod *cache_migration_source(const struct cache *cache,
	const struct pod *target);

/* The observed usage of the VM of a pod. Zeroed: no such pod. */
struct usage cache_usage(const struct cache *cache, const char *uid);

/* Counts a pod on a second node, under a uid of its own, until
 * cache_remove_pod(). False: there is no such pod. */
must_check bool cache_put_copy(struct cache *cache, const char *uid,
	const char *copy_uid, const char *node, int64_t now_us);

/* Returns the number of pods that count as VMs. */
size_t cache_vms(const struct cache *cache);

/* Returns the number of nodes whose load is fresh. */
size_t cache_fresh_loads(const struct cache *cache, int64_t now_us);
