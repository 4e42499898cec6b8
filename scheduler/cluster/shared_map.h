/* Maps that share their values with copies of the map.
 *
 * A copy is made and freed in steps of SHARED_MAP_STEP entries, between which
 * the original may change. */
#pragma once

#include "lib/interner.h"
#include "lib/map.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	SHARED_MAP_STEP = 200,
	/* An original that grows moves its entries, and the walk begins again.
	 * After this many times it goes on, and may miss entries. */
	SHARED_MAP_RESTARTS = 3,
};

struct shared_values {
	void *(*share)(void *value); /* the value for the copy */
	void (*drop)(void *value, struct interner *interner); /* NULL is fine */
};

/* A walk over a map that changes between two steps. Zeroed: at the start. */
struct map_walk {
	const struct map_slot *slots; /* where the entries were */
	size_t capacity, at;
	unsigned restarts;
};

/* Copies some entries. An entry that came or went since the start may be
 * missing or there. False: all are copied. */
bool shared_map_copy(struct map *out, const struct map *from,
	struct map_walk *walk, const struct shared_values *values,
	struct interner *interner);

/* Frees some entries; *at starts at 0. False: the map is empty, and zeroed. */
bool shared_map_free(struct map *map, size_t *at,
	const struct shared_values *values, struct interner *interner);

/* Frees all. */
void shared_map_fini(struct map *map, const struct shared_values *values,
	struct interner *interner);
