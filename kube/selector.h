/* Label and field selectors of requests, as metav1 writes them. Pure.
 *
 * Labels: "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)", "a", "!a",
 * joined by commas. Fields: "a=b", "a==b", "a!=b" joined by commas, with a \
 * before a comma, an equals sign or a \ of a value. */
#pragma once

#include "kube/label_selector.h"
#include "lib/error.h"

#include <stdbool.h>

enum { SELECTOR_TERMS_MAX = 64, SELECTOR_VALUES_MAX = 256 };

/* Zeroed: matches everything. */
struct selector {
	struct label_selector terms;
	struct interner *interner; /* owned; of the terms. NULL: none */
};

void selector_fini(struct selector *selector); /* zeroed is fine */

/* text NULL or "": matches everything. -EINVAL: not a selector. */
must_check int selector_parse_labels(struct selector *out, const char *text,
	struct error *err);
must_check int selector_parse_fields(struct selector *out, const char *text,
	struct error *err);

/* The values that a term asks for; with Exists, any. */
struct selector_values {
	const struct requirement *term;
	const struct interner *interner;
};

/* A value of an object is one of them; NULL is none. */
bool selector_values_have(const struct selector_values *values,
	const char *value);

/* An object to match. */
struct selector_object {
	/* True: the object has the key with one of the values; a field may have
	 * several. Called once for a term. NULL: the object has no key. */
	bool (*has)(const void *owner, const char *key,
		const struct selector_values *values);
	const void *owner;
};

bool selector_matches(const struct selector *selector,
	const struct selector_object *object);

/* The value that a key must have by a term with = or with one value; NULL: no
 * term says so. */
const char *selector_required(const struct selector *selector, const char *key);

/* Which of the words in `known`, separated by spaces, the key is; false: none.
 * The first is 0. */
bool selector_key_place(size_t *place, const char *known, const char *key);

/* -EINVAL: a key is not one of the words in `known`. */
must_check int selector_check_keys(const struct selector *selector,
	const char *known, struct error *err);
