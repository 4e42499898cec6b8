/* Places kept for VMs that are not there yet.
 *
 * A DataVolume that waits for its first consumer makes KubeVirt run a
 * temporary pod of the VM's size (annotation kubevirt.io/ephemeral-
 * provisioning), which is deleted once the volume has its node; only when the
 * import is over the VM's own pod comes. With local volumes it can go nowhere
 * else: without its place kept, others fill the node meanwhile. So the
 * temporary pod goes on counting until another pod of the same VM
 * (label kubevirt.io/created-by) has a node, or PLACES_KEEP_US.
 *
 * Kept in memory alone: a scheduler that starts anew knows of none. Times are
 * monotonic microseconds. */
#pragma once

#include "scheduler/cache/cache.h"

#include <stdbool.h>
#include <stdint.h>

/* An import of most images is over by then; and a VM that was deleted
 * meanwhile, of which nobody tells us, does not block its node for long. */
#define PLACES_KEEP_US INT64_C(600000000)

/* The pod is gone. True: it keeps its place, and is not to be removed from the
 * cache. False for all but temporary pods on a node. */
bool places_keep(struct cache *cache, const char *uid, int64_t now_us);

/* pod is about to be decided about: what is kept for it does not count, until
 * places_return(). pod stays the caller's. */
void places_lift(struct cache *cache, const struct pod *pod);
void places_return(struct cache *cache, const struct pod *pod);

/* pod has a node: nothing is kept for its VM any more. */
void places_settle(struct cache *cache, const struct pod *pod);

/* The pod failed: it holds nothing, nor is anything kept for it. */
void places_forget(struct cache *cache, const char *vmi_uid, const char *uid);

/* Gives up what was kept for too long. True if there was something. */
bool places_expire(struct cache *cache, int64_t now_us);

void places_fini(struct cache *cache); /* of cache_fini() */
