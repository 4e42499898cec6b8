/* Label selectors: matchLabels and matchExpressions, all of which must match.
 *
 * As in Kubernetes, an empty selector selects everything. A missing or an
 * invalid selector selects nothing. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "kube/requirement.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: selects nothing. */
struct label_selector {
	struct requirement *list; /* owned */
	size_t count;
	bool is_valid; /* false: missing or invalid */
};

/* Reads a LabelSelector; NULL and null are a missing selector. */
void label_selector_read(struct label_selector *out, struct interner *interner,
	const struct json_value *object);
void label_selector_fini(struct label_selector *selector,
	struct interner *interner);

/* Adds the requirement key=value. A selector of nothing stays one. */
void label_selector_add(struct label_selector *selector,
	struct interner *interner, uint32_t key, uint32_t value);

/* Valid, with no requirement. */
bool label_selector_is_empty(const struct label_selector *selector);

/* labels: NULL is the empty set. */
bool label_selector_matches(const struct label_selector *selector,
	const struct interner *interner, const struct labels *labels);
