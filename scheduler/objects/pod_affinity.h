/* Pod affinity and anti-affinity terms: the pods, their namespaces and the
 * topology key.
 *
 * The API server merges matchLabelKeys and mismatchLabelKeys into the label
 * selector when it admits a pod; like kube-scheduler, this reads neither. */
#pragma once

#include "kube/json_value.h"
#include "kube/label_selector.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pod_affinity_term {
	uint32_t topology_key; /* held */
	uint32_t *namespaces;  /* owned, each held; see lib/id_list.h */
	size_t namespace_count;
	struct label_selector namespace_selector;
	struct label_selector label_selector;
	int32_t weight; /* of a preferred term; 1 for a required term */
};

struct pod_affinity_terms {
	struct pod_affinity_term *list; /* owned */
	size_t count;
};

/* All terms of one pod. */
struct pod_affinity {
	struct pod_affinity_terms required, required_anti;
	struct pod_affinity_terms preferred, preferred_anti;
};

/* Reads spec.affinity of a pod in this namespace; NULL: none.
 * -EBADMSG: the terms are not a list. */
must_check int pod_affinity_read(struct pod_affinity *out,
	struct interner *interner, const struct json_value *affinity,
	const char *namespace, struct error *err);
void pod_affinity_fini(struct pod_affinity *affinity,
	struct interner *interner);

bool pod_affinity_has_terms(const struct pod_affinity *affinity);

/* The pod that a term is matched against. */
struct pod_affinity_subject {
	const struct interner *interner;
	uint32_t namespace;
	const struct labels *labels;
	/* From the Namespace object; NULL: there is no such object. */
	const struct labels *namespace_labels;
};

/* A term of an existing pod matches the incoming pod. A namespace without an
 * object counts as one without labels. */
bool pod_affinity_existing_matches(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject);

/* A term of the incoming pod matches an existing pod. As in kube-scheduler, the
 * namespaceSelector selects Namespace objects, so that a namespace without an
 * object matches only {} and its own name. kube-scheduler 1.34 to 1.36.3 had a
 * fault here: NotIn and DoesNotExist matched every namespace. */
bool pod_affinity_incoming_matches(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject);
