/* Label selectors: matchLabels and matchExpressions, all of which must match.
 *
 * A selector that is missing selects nothing, an empty one everything; one that
 * cannot be understood nothing. */
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
	LABEL_SELECTOR_REQUIREMENTS_MAX = 1024,
	LABEL_SELECTOR_VALUES_MAX = 16384, /* of one requirement */
};

/* A zeroed one selects nothing. */
struct label_selector {
	struct requirement *list; /* owned */
	size_t count;
	bool is_something; /* it is there and was understood */
};

/* Reads a LabelSelector; NULL and null are the missing one.
 * -E2BIG: too large. */
must_check int label_selector_read(struct label_selector *out,
	struct names *names, const struct value *object, struct error *err);
void label_selector_fini(struct label_selector *selector, struct names *names);

/* Also wants key to have this value; a selector of nothing stays one. */
void label_selector_add(struct label_selector *selector, struct names *names,
	uint32_t key, uint32_t value);

/* It was there and had no requirement. */
bool label_selector_is_empty(const struct label_selector *selector);

/* labels: NULL is the empty set. */
bool label_selector_matches(const struct label_selector *selector,
	const struct names *names, const struct labels *labels);
