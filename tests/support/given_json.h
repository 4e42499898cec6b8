/* JSON for tests, with single quotes. */
#pragma once

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

/* Fails with the text of the case. */
static inline void given_check(bool is_right, const char *text)
{
	if (!is_right) {
		fail_msg("%s", text);
	}
}

/* A copy with double quotes for single ones. The caller frees it. */
static inline char *given_quotes(const char *text)
{
	char *json = xstrdup(text);

	for (char *at = strchr(json, '\''); at != NULL; at = strchr(at, '\'')) {
		*at = '"';
	}
	return json;
}

static inline struct json_value *given_json(const char *text)
{
	scoped_free char *json = given_quotes(text);
	struct json_value *value = NULL;
	struct error err;

	if (json_value_parse(&value, json, strlen(json), &err) < 0) {
		fail_msg("%s: %s", err.text, json);
	}
	return value;
}
