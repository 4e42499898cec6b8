/* A hash map from strings to pointers, in memory only.
 *
 * Keys are copied, values are the caller's. Iteration is in no particular
 * order; whoever prints sorts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_slot {
	char *key; /* NULL: free; the tombstone has a value of its own */
	void *value;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
	size_t used; /* count and tombstones */
};

void map_fini(struct map *map); /* keys only; values are the caller's */

void *map_get(const struct map *map, const char *key); /* NULL: none */

/* Returns the value it replaced, or NULL. value is not NULL. */
void *map_put(struct map *map, const char *key, void *value);

/* Returns the value that was removed, or NULL. */
void *map_remove(struct map *map, const char *key);

/* Steps through: start with *at = 0; false at the end. key may be NULL. Removing the entry just
 * seen is allowed, adding is not. */
bool map_next(const struct map *map, size_t *at, const char **key,
	void **value);
