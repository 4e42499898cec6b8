/* Node selector terms: required and preferred node affinity.
 *
 * Terms are ORed, what is inside a term is ANDed; a term that is empty or that
 * cannot be understood matches nothing, as upstream. matchFields knows
 * metadata.name with In or NotIn and exactly one value. */
#pragma once

#include "kube/value.h"
#include "lib/error.h"
#include "scheduler/labels.h"
#include "scheduler/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SELECTOR_TERMS_MAX = 1024,
	SELECTOR_REQUIREMENTS_MAX = 1024, /* of one term */
	SELECTOR_VALUES_MAX = 16384,	  /* of one requirement */
};

enum selector_operator {
	SELECTOR_IN,
	SELECTOR_NOT_IN,
	SELECTOR_EXISTS,
	SELECTOR_DOES_NOT_EXIST,
	SELECTOR_GT,
	SELECTOR_LT,
};

struct requirement {
	enum selector_operator operator;
	bool is_field;	  /* about the node's name, not about a label */
	uint32_t key;	  /* held; 0 for fields */
	uint32_t *values; /* owned, each held */
	size_t value_count;
	int64_t number; /* of Gt and Lt */
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

/* What terms are held against. */
struct selected {
	const struct names *names;
	const struct labels *labels;
	uint32_t name; /* of the node */
};

/* Reads nodeSelectorTerms, or with is_preferred the list of
 * {weight, preference}, where those of weight 0 and empty ones are left out.
 * NULL is the empty list. -EBADMSG: no list; -E2BIG: too large. */
must_check int terms_read(struct terms *out, struct names *names,
	const struct value *list, bool is_preferred, struct error *err);
void terms_fini(struct terms *terms, struct names *names);

/* At least one term matches; no terms, no match. */
bool terms_match(const struct terms *terms, const struct selected *node);

/* The sum of the weights of those that match. */
int64_t terms_weight(const struct terms *terms, const struct selected *node);
