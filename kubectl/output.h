/* The formats of -o, and lists that are printed in them.
 *
 * A list keeps one text for each object: the object itself in JSON or YAML, or
 * its name. Tables keep nothing here. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct buffer;
struct flags;
struct json_value;

enum output {
	OUTPUT_TABLE,
	OUTPUT_WIDE,
	OUTPUT_JSON,
	OUTPUT_YAML,
	OUTPUT_NAME
};

/* -EINVAL: kubectl's sentence about an unknown format. */
must_check int output_of(enum output *out, const struct flags *flags,
	struct error *err);

bool output_is_table(enum output output);

/* The text of one object of a list; the caller frees it. NULL for tables. */
char *output_item(enum output output, const struct json_value *object);

/* Appends a list of such texts, count of them, each at text(list, i). */
void output_list(struct buffer *out, enum output output, const void *list,
	unsigned long count, const char *(*text)(const void *, unsigned long));

/* Prints a single object. output is no table. */
void output_object(enum output output, const struct json_value *object);
