/* Label sets: a node's labels, a pod's nodeSelector. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct label {
	uint32_t key, value; /* held; 0: a free slot */
};

/* A hash table with open addressing: a decision looks up the same few keys on
 * thousands of nodes, and each look-up touches one cache line, however many
 * labels a node has. Zeroed: empty. */
struct labels {
	struct label *slots; /* owned; 2^(32 - shift), at most 3/4 in use */
	uint32_t shift;	     /* 0: no slots */
	uint32_t count;	     /* slots in use */
};

/* Reads {"key":"value", ...}; NULL is the empty set. The last of two equal keys
 * wins.
 * -EBADMSG: not an object of strings. */
must_check int labels_read(struct labels *out, struct interner *interner,
	const struct json_value *object, struct error *err);
void labels_fini(struct labels *labels, struct interner *interner);

/* Also of free slots. */
size_t labels_slot_count(const struct labels *labels);

/* The key's slot, or the free slot for the key. The set must not be empty.
 * Ids are consecutive. Multiplication by 2^32 / golden ratio spreads
 * neighbouring ids as far as possible (Knuth, The Art of Computer Programming,
 * 6.4). */
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

/* The id of the value, or 0 if the set does not have the key. */
static inline uint32_t labels_get(const struct labels *labels, uint32_t key)
{
	return labels->shift == 0 ? 0 : labels_slot(labels, key)->value;
}

/* The same without a key. Holds no ids: it is valid as long as the original.
 * The caller frees its slots. */
struct labels labels_without(const struct labels *labels, uint32_t key);

/* A set of its own with the same labels, and room for so many more. */
struct labels labels_copy(const struct labels *labels,
	struct interner *interner, size_t room);

/* Adds a label, or replaces its value. There must be room. */
void labels_put(struct labels *labels, struct interner *interner,
	const char *key, const char *value);

/* labels has every label of wanted. */
bool labels_include(const struct labels *labels, const struct labels *wanted);
