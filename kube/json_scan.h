/* Finds the start and end of JSON values without parsing them. cJSON checks
 * their content (kube/json_value.h). Fast for the parts that nobody reads.
 * Pure. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_value;

/* The rest of the text. */
struct json_scan {
	const char *at;
	const char *end;
	/* 0, or brackets must match in values that are skipped, and at most so
	 * many of them are open: up to 64. */
	size_t depth_max;
};

/* One JSON value in the text. */
struct json_slice {
	const char *text;
	size_t len;
};

void json_scan_blank(struct json_scan *s);

/* Skips blanks, then c if it is next. */
bool json_scan_char(struct json_scan *s, char c);

/* Skips blanks and a value. False: there is none, or it does not end. */
bool json_scan_value(struct json_scan *s, struct json_slice *out);

/* json_value_parse() without the managedFields of an API object and the objects
 * inside it. They are a third of the text and half of the tree, and only
 * programs that apply changes need them. */
must_check int json_scan_parse_object(struct json_value **out, const char *text,
	size_t len, struct error *err);
