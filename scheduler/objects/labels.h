/* Sets of key and value: a node's labels, a pod's nodeSelector. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LABELS_MAX = 4096 };

struct label {
	uint32_t key, value; /* held; 0: a slot that is free */
};

/* A hash table with open addressing: a decision asks thousands of nodes for
 * the same few keys, and this takes one line of the cache for each, however
 * many labels a node has. A zeroed one is empty. */
struct labels {
	struct label *slots; /* owned; 2^(32 - shift), at most 3/4 in use */
	uint32_t shift;	     /* 0: no slots */
	uint32_t count;	     /* of slots in use */
};

/* Reads {"key":"value", ...}; NULL is the empty set. Of a key that comes twice
 * the last counts.
 * -EBADMSG: no object of strings; -E2BIG: more than LABELS_MAX. */
must_check int labels_read(struct labels *out, struct names *names,
	const struct value *object, struct error *err);
void labels_fini(struct labels *labels, struct names *names);

/* The key's slot, or the free one where it would be; not of an empty set.
 * Names are numbered as they come: multiplied by 2^32 over the golden ratio,
 * neighbours end up as far from each other as can be (Knuth, The Art of
 * Computer Programming, 6.4). */
static inline struct label *labels_slot(const struct labels *labels,
	uint32_t key)
{
	struct label *slots = labels->slots;
	uint32_t mask = UINT32_MAX >> labels->shift;
	uint32_t i = (key * UINT32_C(2654435769)) >> labels->shift;

	while (slots[i].key != key && slots[i].key != 0) {
		i = (i + 1) & mask;
	}
	return &slots[i];
}

/* The value's name, or 0 if there is no such key. */
static inline uint32_t labels_get(const struct labels *labels, uint32_t key)
{
	return labels->shift == 0 ? 0 : labels_slot(labels, key)->value;
}

/* Every pair of wanted is in labels. */
bool labels_include(const struct labels *labels, const struct labels *wanted);
