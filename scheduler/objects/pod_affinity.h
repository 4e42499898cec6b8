/* Terms of pod affinity and anti-affinity: which pods, in which namespaces, and
 * what of a node must be the same (topologyKey).
 *
 * matchLabelKeys and mismatchLabelKeys are part of the label selector when the
 * API server has taken the pod; kube-scheduler looks at neither. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/label_selector.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POD_TERMS_MAX = 256, POD_TERM_NAMESPACES_MAX = 4096 };

struct pod_term {
	uint32_t topology_key; /* held */
	uint32_t *namespaces;  /* owned, each held; what is named */
	size_t namespace_count;
	struct label_selector of_namespaces;
	struct label_selector of_pods;
	int32_t weight; /* of a preferred term; of a required one 1 */
};

struct pod_terms {
	struct pod_term *list; /* owned */
	size_t count;
};

/* All of one pod; the lists may be empty. */
struct pod_affinity {
	struct pod_terms required, required_anti;
	struct pod_terms preferred, preferred_anti;
};

/* Reads spec.affinity of a pod in this namespace; NULL is none.
 * -EBADMSG: terms that are no list; -E2BIG: too many. */
must_check int pod_affinity_read(struct pod_affinity *out, struct names *names,
	const struct value *affinity, const char *namespace, struct error *err);
void pod_affinity_fini(struct pod_affinity *affinity, struct names *names);

/* It has terms of any kind. */
bool pod_affinity_is_any(const struct pod_affinity *affinity);

/* Whom a term is held against. */
struct term_subject {
	const struct names *names;
	uint32_t namespace;
	const struct labels *labels;
	/* Of its Namespace object; NULL: there is none. */
	const struct labels *namespace_labels;
};

/* Does a term of a pod that runs mean this pod? */
bool pod_term_means(const struct pod_term *term,
	const struct term_subject *subject);

/* The same for a term of the pod to place. kube-scheduler resolves its
 * namespaceSelector into names beforehand and yet holds it against no labels at
 * all afterwards, so that one like NotIn or DoesNotExist means all namespaces.
 * We do what it does: two schedulers must agree on a VM. */
bool pod_term_means_placed(const struct pod_term *term,
	const struct term_subject *subject);
