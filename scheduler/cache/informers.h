/* What the API server says of the cluster: watches that keep the cache and the
 * queue of waiting pods up to date. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"
#include "scheduler/objects/rejection.h"

#include <stdbool.h>
#include <stddef.h>

struct feed;
struct kube_client;

struct feed_options {
	struct cache *cache; /* these three outlive the feed */
	struct queue *queue;
	const char *scheduler_name; /* of the pods that are ours to place */
	/* The cache or the queue has changed: there may be something to do. */
	void (*on_change)(void *owner);
	/* A kubelet has rejected a pod of ours; the node's name. */
	void (*on_rejected)(void *owner, const char *node,
		enum rejection rejection);
	/* Once: the cluster is known completely. */
	void (*on_synced)(void *owner);
	void *owner;
};

/* Never NULL. */
struct feed *feed_new(struct kube_client *client,
	const struct feed_options *options);

/* To be called every OUTAGE_LOOK_MS: logs outages of the API server. */
void feed_look(struct feed *feed);

/* outage_ready() of the watches; connected and of: see there. */
bool feed_ready(const struct feed *feed, struct buffer *why, size_t connected,
	size_t of);

void feed_close(struct feed *feed); /* NULL is fine */
