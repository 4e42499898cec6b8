#include "scheduler/cluster/shared_map.h"

/* A map with other slots may have its entries anywhere. */
static void follow(struct map_walk *walk, const struct map *from)
{
	if (walk->slots == from->slots && walk->capacity == from->capacity) {
		return;
	}
	if (walk->slots != NULL && walk->restarts < SHARED_MAP_RESTARTS) {
		walk->restarts++;
		walk->at = 0;
	}
	walk->slots = from->slots;
	walk->capacity = from->capacity;
	walk->at = walk->at < from->capacity ? walk->at : from->capacity;
}

bool shared_map_copy(struct map *out, const struct map *from,
	struct map_walk *walk, const struct shared_values *values,
	struct interner *interner)
{
	const char *key;
	void *value;

	follow(walk, from);
	map_reserve(out, from->count);
	for (int i = 0; i < SHARED_MAP_STEP; i++) {
		if (!map_next(from, &walk->at, &key, &value)) {
			return false;
		}
		values->drop(map_put(out, key, values->share(value)), interner);
	}
	return true;
}

bool shared_map_free(struct map *map, size_t *at,
	const struct shared_values *values, struct interner *interner)
{
	const char *key;
	void *value;

	for (int i = 0; i < SHARED_MAP_STEP; i++) {
		if (!map_next(map, at, &key, &value)) {
			map_fini(map);
			return false;
		}
		values->drop(map_remove(map, key), interner);
	}
	return true;
}

void shared_map_fini(struct map *map, const struct shared_values *values,
	struct interner *interner)
{
	size_t at = 0;

	while (shared_map_free(map, &at, values, interner)) {
	}
}
