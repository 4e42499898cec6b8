/* The namespaces that the pod affinity of a question's manifest looks into,
 * beside the namespace of the question. An answer tells whether pods with
 * certain labels run there, so the user must be allowed to list them.
 *
 * Pure. kube-apiserver and the scheduler read terms of a pod by these rules: a
 * term has names of namespaces, a selector of namespaces, or neither and is
 * about its own namespace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Each costs a review. Terms that name more need the right for all. */
enum { QUESTION_REACH_MAX = 8 };

struct question_reach {
	bool is_all; /* a selector, which may select any namespace */
	char *namespaces[QUESTION_REACH_MAX]; /* owned; each once */
	size_t count;
};

/* The spec of a Placement, as question_object_read() took it. A spec that
 * cannot be read reaches all namespaces. Names that no namespace can have are
 * left out: the scheduler refuses the manifest. */
void question_reach_read(struct question_reach *out, const char *spec,
	size_t len, const char *own_namespace);
void question_reach_fini(struct question_reach *reach); /* zeroed is fine */

/* How many reviews the user has to pass, and the namespace of each; "": all
 * namespaces. */
size_t question_reach_reviews(const struct question_reach *reach);
const char *question_reach_namespace(const struct question_reach *reach,
	size_t review);
