/* The cluster as the scheduler knows it: nodes, what runs on them, and what
 * will run there although the API server has not said so yet (assumed).
 *
 * Fed by the watches, in any order: pods may come before their node. Pods whose
 * node has no Node object are kept until it appears. All times are monotonic
 * microseconds given by the caller. */
#pragma once

#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct placed;
TAILQ_HEAD(strangers, placed);

struct cache {
	struct names *names; /* owned */
	struct cluster cluster;
	struct map nodes;    /* name -> the node and what was read of it */
	struct map pods;     /* uid -> struct placed */
	struct map nominees; /* uid -> struct pod, owned */
	struct map loads;    /* node name -> struct known_load */
	/* VMs that showed up on a node and that nobody was asked about. */
	struct strangers strangers;
	struct map places; /* uid of a VMI -> struct place: see places.h */
};

void cache_init(struct cache *cache);
void cache_fini(struct cache *cache);

/* A Node as it is now. *changed: in a way that may let a waiting pod fit
 * (labels, taints, allocatable, unschedulable). -EBADMSG: not a node we
 * understand; what was known of it stays. */
must_check int cache_put_node(struct cache *cache, bool *changed,
	const struct value *object, int64_t now_us, struct error *err);
void cache_remove_node(struct cache *cache, const char *name);

/* NULL: no such node. */
const struct node *cache_node(const struct cache *cache, const char *name);

/* A pod with a node: counts there from now on; confirms an assumed one. A pod
 * that was assumed elsewhere moves. Takes pod. */
void cache_put_pod(struct cache *cache, struct pod *pod, int64_t bound_us);

/* A pod of another scheduler that has no node, but was nominated for one. Takes
 * pod. */
void cache_put_nominee(struct cache *cache, struct pod *pod);
/* False if there was none. */
bool cache_remove_nominee(struct cache *cache, const char *uid);

/* True if it counted somewhere. */
bool cache_remove_pod(struct cache *cache, const char *uid);

/* Takes a pod that has a node off it and gives it back, and when it was bound;
 * NULL if there is none. */
struct pod *cache_take_pod(struct cache *cache, const char *uid,
	int64_t *bound_us);

/* The pod counts on the node until it is confirmed, forgotten or gone.
 * Takes pod. */
void cache_assume(struct cache *cache, struct pod *pod, const char *node,
	int64_t now_us);

/* Takes an assumed pod off its node again and gives it back; NULL if it is not
 * (or no longer only) assumed. */
struct pod *cache_forget(struct cache *cache, const char *uid);

bool cache_is_assumed(const struct cache *cache, const char *uid);

/* How many are assumed. */
size_t cache_assumed(const struct cache *cache);

/* The pod that counts somewhere, or NULL. */
const struct pod *cache_pod(const struct cache *cache, const char *uid);

/* The pod of a VM that runs, was not placed by us, and was not given yet; NULL:
 * there is none (any more). The pod stays the cache's. */
const struct pod *cache_take_stranger(struct cache *cache);

/* What others know of the past of a VM that runs, if it still does. */
void cache_teach(struct cache *cache, const char *uid,
	const struct vm_profile *past);

/* Takes over the newest load known of a node; older ones are ignored. *changed:
 * its KVM state is another, or it was not known before. load stays the
 * caller's. */
void cache_put_load(struct cache *cache, bool *changed,
	const struct node_load *load, int64_t sample_us, int64_t now_us);

/* The node's kubelet has rejected a pod. */
void cache_reject(struct cache *cache, const char *node, int64_t now_us);

/* How many nodes have a load that is fresh now. */
size_t cache_fresh_loads(const struct cache *cache, int64_t now_us);
