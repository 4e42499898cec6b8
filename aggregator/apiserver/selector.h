/* Label and field selectors of requests, as metav1 writes them. Pure.
 *
 * Labels: "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)", "a", "!a",
 * joined by commas. Fields: "a=b", "a==b", "a!=b" joined by commas, with a \
 * before a comma, an equals sign or a \ of a value. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { SELECTOR_TERMS_MAX = 64, SELECTOR_VALUES_MAX = 256 };

enum selector_operator {
	SELECTOR_IN,	 /* also =: one of the values */
	SELECTOR_NOT_IN, /* also !=: none of them, or no such key */
	SELECTOR_EXISTS,
	SELECTOR_EXISTS_NOT,
};

struct selector_term {
	char *key; /* owned */
	enum selector_operator op;
	char **values; /* owned, as they are */
	size_t value_count;
};

/* Zeroed: matches everything. */
struct selector {
	struct selector_term *terms; /* owned */
	size_t count;
};

void selector_fini(struct selector *selector); /* NULL, zeroed are fine */

/* text NULL or "": matches everything. -EINVAL: not a selector. */
must_check int selector_parse_labels(struct selector *out, const char *text,
	struct error *err);
must_check int selector_parse_fields(struct selector *out, const char *text,
	struct error *err);

/* An object to match. */
struct selector_object {
	/* True: the object has the key, and with value not NULL also this
	 * value; a field may have several. */
	bool (*has)(const void *owner, const char *key, const char *value);
	const void *owner;
};

bool selector_matches(const struct selector *selector,
	const struct selector_object *object);

/* The value that a key must have by a term with = or with one value; NULL: no
 * term says so. */
const char *selector_required(const struct selector *selector, const char *key);

/* -EINVAL: a key is not one of the words in `known`, separated by spaces. */
must_check int selector_check_keys(const struct selector *selector,
	const char *known, struct error *err);
