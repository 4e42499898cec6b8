#include "scheduler/objects/topology_counts.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 16 };

void pairs_fini(struct pairs *pairs)
{
	free(pairs->slots);
	free(pairs->keys);
	*pairs = (struct pairs){ 0 };
}

void pairs_clear(struct pairs *pairs)
{
	if (pairs->used > 0) {
		memset(pairs->slots, 0,
			pairs->capacity * sizeof(*pairs->slots));
	}
	pairs->used = 0;
	pairs->nonzero = 0;
	pairs->key_count = 0;
}

/* The slot of the pair, or the free one where it belongs. */
static struct pair_slot *find(const struct pairs *pairs, uint32_t key,
	uint32_t value)
{
	/* Fibonacci hashing: the upper bits of the product are well mixed. */
	uint64_t hash = ((uint64_t)key << 32 | value) * 0x9e3779b97f4a7c15U;
	size_t mask = pairs->capacity - 1;
	size_t at = (size_t)(hash >> 32) & mask;

	while (pairs->slots[at].key != 0 &&
		(pairs->slots[at].key != key ||
			pairs->slots[at].value != value)) {
		at = (at + 1) & mask;
	}
	return &pairs->slots[at];
}

static void grow(struct pairs *pairs)
{
	struct pairs old = *pairs;

	pairs->capacity = old.capacity > 0 ? old.capacity * 2 : CAPACITY_MIN;
	pairs->slots = xcalloc(pairs->capacity, sizeof(*pairs->slots));
	for (size_t i = 0; i < old.capacity; i++) {
		const struct pair_slot *slot = &old.slots[i];

		if (slot->key != 0) {
			*find(pairs, slot->key, slot->value) = *slot;
		}
	}
	free(old.slots);
}

static void note_key(struct pairs *pairs, uint32_t key)
{
	for (size_t i = 0; i < pairs->key_count; i++) {
		if (pairs->keys[i] == key) {
			return;
		}
	}
	pairs->keys = xgrow(pairs->keys, pairs->key_count, &pairs->key_capacity,
		sizeof(*pairs->keys));
	pairs->keys[pairs->key_count++] = key;
}

void pairs_add(struct pairs *pairs, uint32_t key, uint32_t value, int64_t by)
{
	struct pair_slot *slot;

	if ((pairs->used + 1) * 4 > pairs->capacity * 3) {
		grow(pairs);
	}
	slot = find(pairs, key, value);
	if (slot->key == 0) {
		*slot = (struct pair_slot){ .key = key, .value = value };
		pairs->used++;
		note_key(pairs, key);
	}
	pairs->nonzero -= slot->count != 0;
	slot->count += by;
	pairs->nonzero += slot->count != 0;
}

bool pairs_have(const struct pairs *pairs, uint32_t key, uint32_t value)
{
	return pairs->used > 0 && find(pairs, key, value)->key != 0;
}

int64_t pairs_get(const struct pairs *pairs, uint32_t key, uint32_t value)
{
	return pairs->used > 0 ? find(pairs, key, value)->count : 0;
}

const struct pair_slot *pairs_next(const struct pairs *pairs, size_t *at)
{
	while (*at < pairs->capacity) {
		const struct pair_slot *slot = &pairs->slots[(*at)++];

		if (slot->key != 0) {
			return slot;
		}
	}
	return NULL;
}
