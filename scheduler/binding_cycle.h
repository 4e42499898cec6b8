/* The binding cycle: everything after a decision, until the pod is on its node
 * or back in the queue. The pod is assumed on its node meanwhile. Its volumes
 * are prepared first (bind/prebind.h), then the pod is bound (bind/binder.h).
 */
#pragma once

#include "scheduler/bind/events.h"
#include "scheduler/cache/cache.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/leader.h"
#include "scheduler/metrics.h"

#include <uv.h>

struct binding_cycle;
struct kube_client;

/* All of these outlive the binding cycle. */
struct binding_cycle_options {
	struct kube_client *client;
	uv_loop_t *loop;
	struct cache *cache;
	struct queue *queue;
	struct metrics *metrics;
	struct events *events;
	const struct leader *leader;
	/* A cycle ended; the number of bindings still in flight. */
	void (*on_end)(void *owner, size_t bindings);
	void *owner;
};

/* Never NULL. */
struct binding_cycle *binding_cycle_new(
	const struct binding_cycle_options *options);

/* Starts the cycle of a pod of the queue; its pod moves to the cache. why is
 * the decision's sentence. Empties plan. */
void binding_cycle_start(struct binding_cycle *cycle, struct queued_pod *queued,
	const char *node, const char *why, struct volume_plan *plan,
	int64_t now_us);

/* False while the limit of concurrent cycles is reached. */
bool binding_cycle_has_capacity(const struct binding_cycle *cycle);

/* The cluster changed: checks the volumes that pods wait for. */
void binding_cycle_poll(struct binding_cycle *cycle);

/* Drops the pods that wait for their volumes. Returns the number of bindings in
 * flight. */
size_t binding_cycle_drain(struct binding_cycle *cycle);

void binding_cycle_close(struct binding_cycle *cycle); /* NULL is fine */
