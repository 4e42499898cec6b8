/* Node selector terms: required and preferred node affinity.
 *
 * Terms are ORed, what is inside a term is ANDed; a term that is empty or that
 * cannot be understood matches nothing, as upstream. matchFields knows
 * metadata.name with In or NotIn and exactly one value. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"
#include "scheduler/objects/requirement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SELECTOR_TERMS_MAX = 1024,
	SELECTOR_REQUIREMENTS_MAX = 1024, /* of one term */
	SELECTOR_VALUES_MAX = 16384,	  /* of one requirement */
};

struct term {
	struct requirement *requirements; /* owned */
	size_t count;
	bool is_broken; /* matches nothing */
	int32_t weight; /* of a preferred term, 1 to 100; else 0 */
};

struct terms {
	struct term *list; /* owned */
	size_t count;
};

/* Reads nodeSelectorTerms, or with is_preferred the list of
 * {weight, preference}, where those of weight 0 and empty ones are left out.
 * NULL is the empty list. -EBADMSG: no list; -E2BIG: too large. */
must_check int terms_read(struct terms *out, struct names *names,
	const struct value *list, bool is_preferred, struct error *err);
/* Reads allowedTopologies of a StorageClass: terms whose expressions have keys
 * and values alone. Same errors. */
must_check int terms_read_topologies(struct terms *out, struct names *names,
	const struct value *list, struct error *err);
void terms_fini(struct terms *terms, struct names *names);

/* At least one term matches; no terms, no match. */
bool terms_match(const struct terms *terms, const struct selected *node);

/* Every term names its nodes (matchFields metadata.name In). */
bool terms_are_pinned(const struct terms *terms);

/* Of pinned terms: one of them can match a node at all. */
bool terms_pin_any(const struct terms *terms);

/* Of pinned terms: one of them names this node. */
bool terms_pin(const struct terms *terms, uint32_t name);

/* The sum of the weights of those that match. */
int64_t terms_weight(const struct terms *terms, const struct selected *node);
