/* JSON read from outside: cJSON behind accessors.
 *
 * Keys are compared with case, trailing garbage is refused, nesting is bounded
 * by cJSON (1000). Every accessor takes NULL and says "nothing", so a path
 * through an object that may lack any part of it is one expression. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value; /* one JSON value; children belong to their root */

/* -EBADMSG: says at which byte. */
must_check int value_parse(struct value **out, const char *text, size_t len,
	struct error *err);
void value_free(struct value *value); /* a root; NULL is fine */

/* A member by key, or NULL. */
const struct value *value_get(const struct value *object, const char *key);

/* A member of a member: value_at(pod, "spec/nodeName"). For fixed paths whose
 * keys hold no slash. */
const struct value *value_at(const struct value *object, const char *path);

bool value_is_object(const struct value *value);
bool value_is_array(const struct value *value);
bool value_is_null(const struct value *value); /* JSON null, not NULL */

/* The string, or NULL if it is none. Borrowed from the root. */
const char *value_text(const struct value *value);

/* value_text(value_at(object, path)), or fallback. */
const char *value_text_at(const struct value *object, const char *path,
	const char *fallback);

/* False and *out untouched if it is no number. Above 2^53 digits are lost. */
bool value_number(double *out, const struct value *value);

/* True only for JSON true. */
bool value_true(const struct value *value);

/* Elements of an array or members of an object, in order:
 * for (v = value_first(list); v != NULL; v = value_next(v)) */
const struct value *value_first(const struct value *container);
const struct value *value_next(const struct value *value);
size_t value_count(const struct value *container);

/* The key of a member while stepping through an object; NULL in arrays. */
const char *value_key(const struct value *value);
