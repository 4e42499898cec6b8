#include "scheduler/make_room/hold.h"

#include "lib/memory.h"

#include <stdio.h>

void hold_put(struct attempt *attempt, struct cache *cache, struct pod *pod,
	const char *node, int64_t now_us)
{
	struct pod *copy;

	if (attempt->is_holding) {
		return;
	}
	(void)snprintf(attempt->held_node, sizeof(attempt->held_node), "%s",
		node);
	copy = pod_copy(pod, pod->uid, "");
	xreplace(&copy->nominated_node, attempt->held_node);
	cache_put_nominated(cache, copy);
	attempt->is_holding = true;
	attempt->held_us = now_us;
}

bool hold_release(struct attempt *attempt, struct cache *cache)
{
	bool was_holding = attempt->is_holding;

	attempt->is_holding = false;
	return was_holding && cache_remove_nominated(cache, attempt->uid);
}
