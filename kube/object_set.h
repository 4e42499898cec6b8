/* The keys and uids of all objects of a kind, to find those deleted while no
 * watch was open.
 *
 * Each list is a round: object_set_begin(), object_set_add() for each item,
 * object_set_sweep() at the end. An interrupted round is started again. */
#pragma once

#include "lib/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct object_set {
	struct map objects; /* "namespace/name" -> struct set_entry */
	uint64_t round;
};

/* Receives a deleted object; key and uid are borrowed for the call. False
 * stops, and the set is not used any more. */
typedef bool (*object_set_gone)(void *owner, const char *key, const char *uid);

void object_set_fini(struct object_set *set); /* zeroed is fine */

void object_set_begin(struct object_set *set);

/* Adds an object. Returns the previous uid under key if it differs, otherwise
 * NULL. The caller frees it. */
char *object_set_add(struct object_set *set, const char *key, const char *uid);

/* Removes the object. False: it was not in the set. */
bool object_set_remove(struct object_set *set, const char *key);

/* Removes and reports the objects not added since object_set_begin(). */
void object_set_sweep(struct object_set *set, object_set_gone gone,
	void *owner);
