/* Counts by key and value: how many pods there are in a zone, on a host.
 *
 * Keys and values are names (names.h), borrowed. Cleared and used again from
 * decision to decision, so that counting allocates only while it grows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair_slot {
	uint32_t key, value; /* key 0: free */
	int64_t count;
};

/* A zeroed one is empty. */
struct pairs {
	struct pair_slot *slots; /* owned */
	size_t capacity;	 /* a power of two, or 0 */
	size_t used;		 /* pairs that are there, of any count */
	size_t nonzero;		 /* those whose count is not 0 */
	uint32_t *keys;		 /* owned; each key once */
	size_t key_count, key_capacity;
};

void pairs_fini(struct pairs *pairs); /* zeroed is fine */
void pairs_clear(struct pairs *pairs);

/* by may be 0: the pair is then there with what it has. */
void pairs_add(struct pairs *pairs, uint32_t key, uint32_t value, int64_t by);

bool pairs_have(const struct pairs *pairs, uint32_t key, uint32_t value);

/* 0 where there is none. */
int64_t pairs_get(const struct pairs *pairs, uint32_t key, uint32_t value);

/* Steps through: start with *at = 0; NULL at the end. */
const struct pair_slot *pairs_next(const struct pairs *pairs, size_t *at);
