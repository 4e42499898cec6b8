/* Limited places that peers share fairly: connections, bytes of bodies, long
 * answers.
 *
 * When no place is free, a newcomer displaces one that is held, by these rules
 * in this order:
 *  1. the peer that holds the most gives way, if afterwards it still holds at
 *     least as much as the newcomer's peer;
 *  2. the newcomer's own peer gives way, with a place that has not moved for
 *     PLACES_STALLED_US or that is idle;
 *  3. any peer gives way with such a place.
 * Within a peer the place that has not moved for the longest time is chosen.
 * Thus one peer may use all places while nobody
 * else wants them, and never more than its share when somebody does.
 *
 * Pure: time is an argument, and the caller evicts. Not thread-safe. Memory: a
 * record for each peer with a place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define PLACES_STALLED_US UINT64_C(2000000)

enum place_kind {
	PLACE_MOVING,  /* the peer sends or reads, or should */
	PLACE_IDLE,    /* costs the peer nothing to lose */
	PLACE_WAITING, /* for this process: never stalls */
	PLACE_FIXED,   /* cannot be taken away now */
};

struct places_peer;

/* Zeroed: holds nothing. Its members belong to this module. */
struct place {
	TAILQ_ENTRY(place) link;
	struct places_peer *peer; /* NULL: holds nothing */
	size_t size;
	enum place_kind kind;
	uint64_t moved_us;
};

struct places {
	TAILQ_HEAD(place_list, place) list;
	LIST_HEAD(places_peers, places_peer) peers;
	size_t held, max;
};

/* max: the sum of all sizes. A single place may be larger. */
void places_init(struct places *places, size_t max);
void places_fini(struct places *places); /* when no place is held */

bool places_fit(const struct places *places, size_t size);

/* The place to give up so that the peer gets one of this size, or NULL: the
 * newcomer has to wait. */
struct place *places_victim(const struct places *places, const char *peer,
	size_t size, uint64_t now_us);

/* The place holds nothing before; it keeps its kind. The peer's name is copied.
 * Does not check the limit. */
void places_add(struct places *places, struct place *place, const char *peer,
	size_t size, uint64_t now_us);

/* A place that holds nothing is fine for both. */
void places_move(struct place *place, enum place_kind kind, uint64_t now_us);
void places_remove(struct places *places, struct place *place);

/* No peer holds more than the place's peer. */
bool places_is_most(const struct place *place, const struct places *places);
