/* Node selectors: required and preferred node affinity.
 *
 * As in Kubernetes, terms are ORed, and the requirements of a term are ANDed.
 * An empty or invalid term matches nothing. matchFields supports metadata.name
 * with In or NotIn and exactly one value. */
#pragma once

#include "kube/json_value.h"
#include "kube/label_selector.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_selector_term {
	struct label_selector all; /* and fields; empty: matches nothing */
	int32_t weight;		   /* of a preferred term, 1 to 100; else 0 */
};

struct node_selector {
	struct node_selector_term *list; /* owned */
	size_t count;
};

/* Reads nodeSelectorTerms, or with is_preferred a list of {weight, preference}.
 * Preferences that are empty or have weight 0 are left out. NULL is the empty
 * list. -EBADMSG: not a list. */
must_check int node_selector_read(struct node_selector *out,
	struct interner *interner, const struct json_value *list,
	bool is_preferred, struct error *err);
/* Reads allowedTopologies of a StorageClass, whose expressions have only a key
 * and values. */
void node_selector_read_topologies(struct node_selector *out,
	struct interner *interner, const struct json_value *list);
/* The weight of a preferred term, for nodes or pods; 0 if it is not from 1 to
 * 100. */
int32_t node_selector_term_weight(const struct json_value *term);

void node_selector_fini(struct node_selector *selector,
	struct interner *interner);

/* At least one term matches. */
bool node_selector_matches(const struct node_selector *selector,
	const struct requirement_subject *subject);

/* Every term names its node (matchFields metadata.name In). */
bool node_selector_is_pinned(const struct node_selector *selector);

/* For a pinned selector: at least one term can match a node. */
bool node_selector_pins_any(const struct node_selector *selector);

/* For a pinned selector: a term names this node. name is its id. */
bool node_selector_pins(const struct node_selector *selector, uint32_t name);

/* The sum of the weights of the terms that match. */
int64_t node_selector_weight(const struct node_selector *selector,
	const struct requirement_subject *subject);
