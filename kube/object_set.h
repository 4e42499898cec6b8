/* Which objects there are: keys and uids, to notice what vanished in a gap.
 *
 * A list is a round: known_begin(), known_note() for each item, known_sweep()
 * at its end. A round that is given up is simply begun again. */
#pragma once

#include "lib/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known {
	struct map objects; /* "namespace/name" -> struct known_object */
	uint64_t round;
};

/* Gets an object that is not there any more; its key and uid are borrowed for
 * the call. False stops, and the struct known is not touched again. */
typedef bool (*known_gone)(void *owner, const char *key, const char *uid);

void known_fini(struct known *known); /* zeroed is fine, and a start */

void known_begin(struct known *known);

/* Returns the uid that was known under key if it is another one, else NULL.
 * The caller frees it. */
char *known_note(struct known *known, const char *key, const char *uid);

/* Forgets the object. False if it was not known. */
bool known_drop(struct known *known, const char *key);

/* Forgets and reports what was not noted since known_begin(). */
void known_sweep(struct known *known, known_gone gone, void *owner);

size_t known_count(const struct known *known);
