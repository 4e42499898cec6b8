/* JSON values that were parsed from outside text: accessors around cJSON.
 *
 * Keys are case-sensitive, trailing garbage is an error, and cJSON limits
 * nesting to 1000 levels. Every accessor accepts NULL and returns "nothing", so
 * a path through an object with missing parts is a single expression. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Some 15 MiB as a tree. A pod with 5,000 names of nodes has 10,000. */
enum { JSON_VALUES_MAX = 100000 };

struct json_value; /* one JSON value; the root owns its children */

/* -EBADMSG: not JSON; the sentence names the byte. */
must_check int json_value_parse(struct json_value **out, const char *text,
	size_t len, struct error *err);
/* The same for text that anyone may send: 2 bytes of text can cost 80 bytes of
 * memory. -E2BIG: it may hold more than JSON_VALUES_MAX values. */
must_check int json_value_parse_bounded(struct json_value **out,
	const char *text, size_t len, struct error *err);
void json_value_free(struct json_value *value); /* a root; NULL is fine */

/* The same, but overwrites all texts first. */
void json_value_free_secret(struct json_value *value);

/* A member by key, or NULL. */
const struct json_value *json_value_get(const struct json_value *object,
	const char *key);

/* A member of a member: json_value_at(pod, "spec/nodeName"). Keys in the path
 * must not contain a slash. */
const struct json_value *json_value_at(const struct json_value *object,
	const char *path);

bool json_value_is_object(const struct json_value *value);
bool json_value_is_array(const struct json_value *value);
/* JSON null, not NULL. */
bool json_value_is_null(const struct json_value *value);

/* The string, or NULL for other types. Borrowed from the root. */
const char *json_value_text(const struct json_value *value);

/* json_value_text(json_value_at(object, path)), or fallback. */
const char *json_value_text_at(const struct json_value *object,
	const char *path, const char *fallback);

/* False, with *out unchanged, if value is no number. Numbers above 2^53 lose
 * digits. */
bool json_value_number(double *out, const struct json_value *value);

/* True only for JSON true. */
bool json_value_true(const struct json_value *value);

/* The value is there, and is neither null nor true. */
bool json_value_false(const struct json_value *value);

/* Iterates over the elements of an array or the members of an object: for (v =
 * json_value_first(list); v != NULL; v = json_value_next(v)) */
const struct json_value *json_value_first(const struct json_value *container);
const struct json_value *json_value_next(const struct json_value *value);
size_t json_value_count(const struct json_value *container);

/* The key of a member of an object; NULL for elements of arrays. */
const char *json_value_key(const struct json_value *value);

/* The version of cJSON that the program runs with. */
const char *json_value_library_version(void);
