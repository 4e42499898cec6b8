/* Sets of key and value: a node's labels, a pod's nodeSelector. */
#pragma once

#include "kube/value.h"
#include "lib/error.h"
#include "scheduler/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LABELS_MAX = 4096 };

/* A zeroed one is empty. */
struct labels {
	uint32_t *keys; /* owned; count keys in order, then their values */
	size_t count;
};

/* Reads {"key":"value", ...}; NULL is the empty set.
 * -EBADMSG: no object of strings; -E2BIG: more than LABELS_MAX. */
must_check int labels_read(struct labels *out, struct names *names,
	const struct value *object, struct error *err);
void labels_fini(struct labels *labels, struct names *names);

/* The value's name, or 0 if there is no such key. */
uint32_t labels_get(const struct labels *labels, uint32_t key);

/* Every pair of wanted is in labels. */
bool labels_include(const struct labels *labels, const struct labels *wanted);
