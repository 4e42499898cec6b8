#include "scheduler/objects/topology_counts.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 16 };

void topology_counts_fini(struct topology_counts *counts)
{
	free(counts->slots);
	free(counts->keys);
	*counts = (struct topology_counts){ 0 };
}

void topology_counts_clear(struct topology_counts *counts)
{
	if (counts->used > 0) {
		memset(counts->slots, 0,
			counts->capacity * sizeof(*counts->slots));
	}
	counts->used = 0;
	counts->nonzero = 0;
	counts->key_count = 0;
}

/* The slot of the pair, or the free slot for it. */
static struct topology_count *find(const struct topology_counts *counts,
	uint32_t key, uint32_t value)
{
	/* Fibonacci hashing: the upper bits of the product are well mixed. */
	uint64_t hash = ((uint64_t)key << 32 | value) * 0x9e3779b97f4a7c15U;
	size_t mask = counts->capacity - 1;
	size_t at = (size_t)(hash >> 32) & mask;

	while (counts->slots[at].key != 0 &&
		(counts->slots[at].key != key ||
			counts->slots[at].value != value)) {
		at = (at + 1) & mask;
	}
	return &counts->slots[at];
}

static void grow(struct topology_counts *counts)
{
	struct topology_counts old = *counts;

	counts->capacity = old.capacity > 0 ? old.capacity * 2 : CAPACITY_MIN;
	counts->slots = xcalloc(counts->capacity, sizeof(*counts->slots));
	for (size_t i = 0; i < old.capacity; i++) {
		const struct topology_count *slot = &old.slots[i];

		if (slot->key != 0) {
			*find(counts, slot->key, slot->value) = *slot;
		}
	}
	free(old.slots);
}

static void add_key(struct topology_counts *counts, uint32_t key)
{
	for (size_t i = 0; i < counts->key_count; i++) {
		if (counts->keys[i] == key) {
			return;
		}
	}
	counts->keys = xgrow(counts->keys, counts->key_count,
		&counts->key_capacity, sizeof(*counts->keys));
	counts->keys[counts->key_count++] = key;
}

void topology_counts_add(struct topology_counts *counts, uint32_t key,
	uint32_t value, int64_t by)
{
	struct topology_count *slot;

	if ((counts->used + 1) * 4 > counts->capacity * 3) {
		grow(counts);
	}
	slot = find(counts, key, value);
	if (slot->key == 0) {
		*slot = (struct topology_count){ .key = key, .value = value };
		counts->used++;
		add_key(counts, key);
	}
	counts->nonzero -= slot->count != 0;
	slot->count += by;
	counts->nonzero += slot->count != 0;
}

bool topology_counts_has(const struct topology_counts *counts, uint32_t key,
	uint32_t value)
{
	return counts->used > 0 && find(counts, key, value)->key != 0;
}

int64_t topology_counts_get(const struct topology_counts *counts, uint32_t key,
	uint32_t value)
{
	return counts->used > 0 ? find(counts, key, value)->count : 0;
}

const struct topology_count *topology_counts_next(
	const struct topology_counts *counts, size_t *at)
{
	while (*at < counts->capacity) {
		const struct topology_count *slot = &counts->slots[(*at)++];

		if (slot->key != 0) {
			return slot;
		}
	}
	return NULL;
}
