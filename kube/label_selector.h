/* Selectors of JSON: requirements, all of which must match.
 *
 * As in Kubernetes, an empty label selector selects everything. A missing or an
 * invalid selector selects nothing. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "kube/requirement.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: selects everything. */
struct label_selector {
	struct requirement *list; /* owned */
	size_t count;
	bool is_invalid; /* or missing */
};

/* Reads a LabelSelector, matchLabels and matchExpressions; NULL and null are a
 * missing selector. */
void label_selector_read(struct label_selector *out, struct interner *interner,
	const struct json_value *object);
/* Adds a list of {key, operator, values}. */
void label_selector_add_expressions(struct label_selector *selector,
	struct interner *interner, const struct json_value *list,
	enum requirement_kind kind);
/* Adds the requirement key=value. */
void label_selector_add(struct label_selector *selector,
	struct interner *interner, const char *key, const char *value);
/* Adds a zeroed requirement, which the caller fills. */
struct requirement *label_selector_append(struct label_selector *selector);

void label_selector_fini(struct label_selector *selector,
	struct interner *interner);

/* Valid, with no requirement. */
bool label_selector_is_empty(const struct label_selector *selector);

/* labels: NULL is the empty set. */
bool label_selector_matches(const struct label_selector *selector,
	const struct interner *interner, const struct labels *labels);
bool label_selector_matches_subject(const struct label_selector *selector,
	const struct requirement_subject *subject);
