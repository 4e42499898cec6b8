/* The watches of what constraints speak of: namespaces, and the objects of
 * storage. Nodes and pods are the placer's own.
 *
 * Keeps the cluster up to date. A kind that the API server does not serve, or
 * not to us, is named in the log once and given up waiting for; its watch goes
 * on trying. */
#pragma once

#include "scheduler/cluster.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct watches;

struct watches_handler {
	/* Something is different, which may let a waiting pod fit. */
	void (*on_change)(void *owner);
	/* One more kind is known completely. */
	void (*on_synced)(void *owner);
	void *owner; /* outlives the watches */
};

/* cluster outlives them. Never NULL. */
struct watches *watches_new(struct kube_client *client, struct cluster *cluster,
	const struct watches_handler *handler);

/* Each kind is known, or was given up. */
bool watches_complete(const struct watches *watches);

/* To be called now and then; at least this long no kind is given up. True if
 * one was just now. */
#define WATCHES_PATIENCE_US UINT64_C(10000000)
bool watches_look(struct watches *watches, uint64_t now_us);

void watches_close(struct watches *watches); /* NULL is fine */
