#include "scheduler/make_room/hold.h"

#include "lib/memory.h"

#include <stdio.h>

void hold_put(struct effort *effort, struct cache *cache, struct pod *pod,
	const char *node, int64_t now_us)
{
	struct pod *copy;

	if (effort->is_holding) {
		return;
	}
	(void)snprintf(effort->held_node, sizeof(effort->held_node), "%s",
		node);
	copy = pod_copy(pod, pod->uid, "");
	xreplace(&copy->nominated_node, effort->held_node);
	cache_put_nominated(cache, copy);
	effort->is_holding = true;
	effort->held_us = now_us;
}

bool hold_release(struct effort *effort, struct cache *cache)
{
	bool was_holding = effort->is_holding;

	effort->is_holding = false;
	return was_holding && cache_remove_nominated(cache, effort->uid);
}
