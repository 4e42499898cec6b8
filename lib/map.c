#include "lib/map.h"

#include "lib/hash.h"
#include "lib/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Marks a slot whose entry was removed; a search continues past it. */
static char tombstone[1];

static uint64_t hash(const char *key)
{
	return hash_text(HASH_SEED, key);
}

static bool is_live(const struct map_slot *slot)
{
	return slot->key != NULL && slot->key != tombstone;
}

/* The slot that holds key, or NULL. */
static struct map_slot *find(const struct map *map, const char *key)
{
	if (map->capacity == 0) {
		return NULL;
	}
	for (size_t i = hash(key) & (map->capacity - 1);;
		i = (i + 1) & (map->capacity - 1)) {
		struct map_slot *slot = &map->slots[i];

		if (slot->key == NULL) {
			return NULL;
		}
		if (slot->key != tombstone && strcmp(slot->key, key) == 0) {
			return slot;
		}
	}
}

/* Takes the first tombstone on its way. A key that is put and removed again and
 * again would otherwise leave a row of tombstones, which searches of other keys
 * walk over, too. */
static void insert(struct map *map, char *key, void *value)
{
	size_t i = hash(key) & (map->capacity - 1);

	while (is_live(&map->slots[i])) {
		i = (i + 1) & (map->capacity - 1);
	}
	map->used += map->slots[i].key == NULL;
	map->slots[i] = (struct map_slot){ key, value };
	map->count++;
}

/* Keeps at least two thirds of the slots free with this many entries, so that
 * half as many can be added before the next call, and drops the tombstones. */
static void rehash(struct map *map, size_t count)
{
	struct map old = *map;

	map->capacity = 16;
	while (map->capacity < (count + 1) * 3) {
		map->capacity *= 2;
	}
	map->slots = xcalloc(map->capacity, sizeof(*map->slots));
	map->count = 0;
	map->used = 0;
	for (size_t i = 0; i < old.capacity; i++) {
		if (is_live(&old.slots[i])) {
			insert(map, old.slots[i].key, old.slots[i].value);
		}
	}
	free(old.slots);
}

static void free_key(const struct map *map, struct map_slot *slot)
{
	if (!map->borrows_keys) {
		free(slot->key);
	}
}

/* A borrowed key is only read, though the type of a slot's key says more. */
static char *key_of(const struct map *map, const char *key)
{
	char *same;

	(void)memcpy(&same, &key, sizeof(same));
	return map->borrows_keys ? same : xstrdup(key);
}

void map_fini(struct map *map)
{
	if (map == NULL) {
		return;
	}
	for (size_t i = 0; i < map->capacity; i++) {
		if (is_live(&map->slots[i])) {
			free_key(map, &map->slots[i]);
		}
	}
	free(map->slots);
	*map = (struct map){ 0 };
}

void *map_get(const struct map *map, const char *key)
{
	const struct map_slot *slot = find(map, key);

	return slot == NULL ? NULL : slot->value;
}

void map_reserve(struct map *map, size_t count)
{
	if (count > map->count && (count + 1) * 2 > map->capacity) {
		rehash(map, count);
	}
}

void *map_put(struct map *map, const char *key, void *value)
{
	struct map_slot *slot = find(map, key);
	void *old;

	if (slot != NULL) {
		old = slot->value;
		slot->value = value;
		if (map->borrows_keys) {
			slot->key = key_of(map, key);
		}
		return old;
	}
	if ((map->used + 1) * 2 > map->capacity) {
		rehash(map, map->count);
	}
	insert(map, key_of(map, key), value);
	return NULL;
}

/* Frees the tombstones up to slot i that have a free slot behind them: every
 * search ends there anyway. */
static void free_tombstones(struct map *map, size_t i)
{
	size_t mask = map->capacity - 1;

	if (map->slots[(i + 1) & mask].key != NULL) {
		return;
	}
	for (; map->slots[i].key == tombstone; i = (i - 1) & mask) {
		map->slots[i].key = NULL;
		map->used--;
	}
}

void *map_remove(struct map *map, const char *key)
{
	struct map_slot *slot = find(map, key);
	void *old;

	if (slot == NULL) {
		return NULL;
	}
	old = slot->value;
	free_key(map, slot);
	*slot = (struct map_slot){ tombstone, NULL };
	map->count--;
	free_tombstones(map, (size_t)(slot - map->slots));
	return old;
}

bool map_next(const struct map *map, size_t *at, const char **key, void **value)
{
	const struct map_slot *slot;

	while (*at < map->capacity && !is_live(&map->slots[*at])) {
		(*at)++;
	}
	if (*at == map->capacity) {
		return false;
	}
	slot = &map->slots[(*at)++];
	if (key != NULL) {
		*key = slot->key;
	}
	*value = slot->value;
	return true;
}
