/* A hash map from strings to pointers.
 *
 * Keys are copied, but for a map with borrows_keys: there, a key is a text that
 * its value owns, and the key of an entry is that of its last value. Values
 * stay the caller's. The order of iteration is unspecified. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_slot {
	char *key; /* NULL: free; the tombstone has its own address */
	void *value;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
	size_t used;	   /* count plus tombstones */
	bool borrows_keys; /* set while the map is empty */
};

void map_fini(struct map *map); /* frees its keys, not the values */

void *map_get(const struct map *map, const char *key); /* NULL if missing */

/* Returns the replaced value, or NULL. value is not NULL. */
void *map_put(struct map *map, const char *key, void *value);

/* Makes room for this many entries in all, so that adding them moves none. */
void map_reserve(struct map *map, size_t count);

/* Returns the removed value, or NULL. */
void *map_remove(struct map *map, const char *key);

/* Iterates: start with *at = 0; false at the end. key may be NULL. The caller
 * may remove the current entry but not add any. */
bool map_next(const struct map *map, size_t *at, const char **key,
	void **value);
