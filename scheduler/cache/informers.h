/* Informers: watches of the API server that keep the cache and the queue up to
 * date. */
#pragma once

#include "kube/reflector.h"
#include "lib/buffer.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"
#include "scheduler/objects/rejection.h"

#include <stdbool.h>
#include <stddef.h>

struct informers;
struct kube_client;
struct reservations;

struct informers_options {
	struct cache *cache; /* these outlive the informers */
	struct reservations *reservations;
	struct queue *queue;
	const char *scheduler_name; /* of the pods to schedule */
	/* The pods of running VMs are read with all their constraints, because
	 * moves choose nodes for them. */
	bool has_moves;
	struct behaviour_overrides behaviours; /* of the API server's version */
	/* The cache or the queue changed. */
	void (*on_change)(void *owner);
	/* A VM's pod of any scheduler exists, or is gone; is_new: not before
	 * the caches were synced. Both are called for known pods, too. */
	void (*on_launcher)(void *owner, const struct reflector_id *id,
		const struct json_value *pod, bool is_new);
	void (*on_pod_gone)(void *owner, const char *uid);
	/* A kubelet rejected a pod of this scheduler. The cache knows it. */
	void (*on_rejected)(void *owner, enum rejection rejection);
	/* Called once, when nodes, pods and constraints are synced. */
	void (*on_synced)(void *owner);
	void *owner;
};

/* Never NULL. */
struct informers *informers_new(struct kube_client *client,
	const struct informers_options *options);

/* To be called every OUTAGE_POLL_MS: logs outages of the API server and
 * ends reservations that are too old. */
void informers_poll(struct informers *informers);

/* outage_ready() of the informers. */
bool informers_ready(const struct informers *informers, struct buffer *why,
	size_t connected, size_t total);

/* The watch of the pods misses no event. */
bool informers_are_watching(const struct informers *informers);

/* How old the cache may be, in seconds: the time since the API server was last
 * heard of by that watch which has waited longest. NAN: not synced yet. */
double informers_age_s(const struct informers *informers);

void informers_close(struct informers *informers); /* NULL is fine */
