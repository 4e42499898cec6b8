/* Writes JSON into a buffer, with commas, escapes and nesting. Bytes that are
 * not UTF-8 become U+FFFD.
 *
 * kube/json_value.h reads JSON. A number that is not finite means "unknown" and
 * is left out with its key; json_null() writes an explicit null. */
#pragma once

#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
	struct buffer *out;
	int depth;
	bool filled[JSON_DEPTH_MAX]; /* this level already has an element */
};

/* A writer at the top level of out, which stays the caller's. */
struct json json_into(struct buffer *out);

/* key is NULL inside arrays and at the top level, and set everywhere else. */
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);

void json_string(struct json *j, const char *key, const char *text);
void json_integer(struct json *j, const char *key, int64_t value);
void json_unsigned(struct json *j, const char *key, uint64_t value);
/* Microseconds as seconds, with up to six decimals as needed. */
void json_seconds(struct json *j, const char *key, uint64_t us);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

/* Nine significant digits, or whole numbers below 1e15 in full. Writes nothing,
 * not even the key, if value is not finite. */
void json_number(struct json *j, const char *key, double value);

/* The same, but null if value is not finite. */
void json_number_or_null(struct json *j, const char *key, double value);

/* Writes text that is JSON already. */
void json_raw(struct json *j, const char *key, const char *text);
