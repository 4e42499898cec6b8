/* Counts by topology key and value: the number of pods in a zone or on a host.
 *
 * Keys and values are borrowed ids (lib/interner.h). A table is cleared and
 * reused from decision to decision, so it allocates only while it grows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topology_count {
	uint32_t key, value; /* key 0: a free slot */
	int64_t count;
};

/* Zeroed: empty. */
struct topology_counts {
	struct topology_count *slots; /* owned */
	size_t capacity;	      /* a power of two, or 0 */
	size_t used;		      /* pairs, of any count */
	size_t nonzero;		      /* pairs whose count is not 0 */
	uint32_t *keys;		      /* owned; each key once */
	size_t key_count, key_capacity;
};

void topology_counts_fini(struct topology_counts *counts); /* zeroed is fine */
void topology_counts_clear(struct topology_counts *counts);

/* by may be 0: this adds the pair and leaves its count. */
void topology_counts_add(struct topology_counts *counts, uint32_t key,
	uint32_t value, int64_t by);

bool topology_counts_has(const struct topology_counts *counts, uint32_t key,
	uint32_t value);

/* 0: no such pair. */
int64_t topology_counts_get(const struct topology_counts *counts, uint32_t key,
	uint32_t value);

/* Iterates: start with *at = 0; NULL at the end. */
const struct topology_count *topology_counts_next(
	const struct topology_counts *counts, size_t *at);
