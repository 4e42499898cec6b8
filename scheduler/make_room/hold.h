/* The place that is held for a pod: a copy of the pod is nominated for the
 * node, so that only pods of higher priority get the place. */
#pragma once

#include "scheduler/cache/cache.h"
#include "scheduler/make_room/attempt.h"

#include <stdbool.h>
#include <stdint.h>

/* Holds the node for the pod, which waits in the queue. No effect if a place is
 * held already. */
void hold_put(struct attempt *attempt, struct cache *cache, struct pod *pod,
	const char *node, int64_t now_us);

/* True: a place is free again, and other pods may fit. */
bool hold_release(struct attempt *attempt, struct cache *cache);
