/* The binding cycle: everything after a decision, until the pod is on its node
 * or back in the queue. The pod is assumed on its node meanwhile. Its volumes
 * are prepared first (bind/prebind.h), then the pod is bound (bind/binder.h).
 *
 * If the outcome of a binding is unknown, the pod stays assumed until the watch
 * shows what became of it. If the watch shows nothing for BINDING_HOLD_US, the
 * pod goes back to the queue. It cannot be bound twice even then, because the
 * API server refuses a second binding. */
#pragma once

#include "scheduler/bind/events.h"
#include "scheduler/cache/cache.h"
#include "scheduler/filter/volume_plan.h"
#include "scheduler/leader.h"
#include "scheduler/metrics.h"

#include <uv.h>

struct binding_cycle;
struct kube_client;
struct reservations;

/* The API server ends a request after 60 s and tells its watches at once;
 * twice that. Counts while the watch of the pods runs. */
#define BINDING_HOLD_US INT64_C(120000000)

/* All of these outlive the binding cycle. */
struct binding_cycle_options {
	struct kube_client *client;
	uv_loop_t *loop;
	struct cache *cache;
	struct reservations *reservations;
	struct queue *queue;
	struct metrics *metrics;
	struct events *events;
	const struct leader *leader;
	/* The watch of the pods misses no event. */
	bool (*is_watching)(void *owner);
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

/* To be called when the cluster changed, and every few seconds: checks the
 * volumes that pods wait for, and the bindings of unknown outcome. */
void binding_cycle_poll(struct binding_cycle *cycle);

/* Drops the pods that wait for their volumes. Returns the number of bindings in
 * flight. */
size_t binding_cycle_drain(struct binding_cycle *cycle);

void binding_cycle_close(struct binding_cycle *cycle); /* NULL is fine */
