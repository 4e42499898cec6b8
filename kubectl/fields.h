/* Reads members of the API's objects for people: every text is escaped, and a
 * figure that is not there is NAN. Pure. */
#pragma once

#include <stdbool.h>

struct json_value;

/* The text at path, escaped, or fallback. The caller frees it. */
char *field_text(const struct json_value *object, const char *path,
	const char *fallback);

/* The number at path, or NAN. */
double field_number(const struct json_value *object, const char *path);

bool field_true(const struct json_value *object, const char *path);

/* The first object of a list with this text under key, or NULL. */
const struct json_value *field_find(const struct json_value *list,
	const char *key, const char *text);

/* The condition of status.conditions with this type, or NULL. */
const struct json_value *field_condition(const struct json_value *object,
	const char *type);

/* Seconds since 1970 of the RFC 3339 time at path, or NAN. */
double field_time_s(const struct json_value *object, const char *path);
