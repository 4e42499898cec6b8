/* The watches of what constraints speak of: namespaces, and the objects of
 * storage. Nodes and pods are the placer's own.
 *
 * Keeps the cluster up to date. A kind that the API server does not serve, or
 * not to us, is named in the log once and given up waiting for; its watch goes
 * on trying. */
#pragma once

#include "scheduler/cluster/cluster.h"

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

/* To be called now and then. No kind is given up while the API server does not
 * answer for nodes and pods. Once it does, so long at least not one that is
 * refused, nor one that fails in another way: longer than a list takes (60 s)
 * and the pause before it (30 s), because what failed while nobody was there
 * has not been asked for since. True if one was given up just now. */
#define WATCHES_PATIENCE_US UINT64_C(10000000)
#define WATCHES_SILENCE_US UINT64_C(100000000)
bool watches_look(struct watches *watches, bool is_answering, uint64_t now_us);

void watches_close(struct watches *watches); /* NULL is fine */
