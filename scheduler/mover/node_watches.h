/* The watch of every node's memory, I/O and KVM, with one struct pressure_watch
 * for each node of the cache, and of its use outside VMs.
 *
 * Every replica notes the loads, so that a new leader knows what lasts already.
 * Times are monotonic microseconds. Pure. */
#pragma once

#include "lib/map.h"
#include "scheduler/cache/cache.h"
#include "scheduler/rebalance/pressure_watch.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: empty. */
struct node_watches {
	struct map by_name; /* of struct node_watch, owned */
};

/* The time constant of the mean use outside VMs. */
#define NODE_WATCHES_OUTSIDE_S 900.0

void node_watches_fini(struct node_watches *watches);

/* Notes a load; see pressure_watch_note(). The load of a node that the cache
 * does not know is ignored. */
void node_watches_note(struct node_watches *watches, const struct cache *cache,
	const struct node_load *load, int64_t sample_us);

/* Forgets the nodes that left the cache. Not during a round. */
void node_watches_expire(struct node_watches *watches,
	const struct cache *cache);

/* A move away from the node was ordered or ended. watches may be NULL. */
void node_watches_restart(struct node_watches *watches, const char *node,
	int64_t now_us);

/* NULL: no load was noted. watches may be NULL. */
const struct pressure_watch *node_watches_find(
	const struct node_watches *watches, const char *node);

/* The mean use of the node outside its VMs, in cores, of about the last
 * NODE_WATCHES_OUTSIDE_S; NAN: not known. watches may be NULL. */
double node_watches_outside_vms(const struct node_watches *watches,
	const char *node);

/* Some trouble of the node has lasted long enough for a move. */
bool node_watches_is_sustained(const struct node_watches *watches,
	const char *node, int64_t now_us);
