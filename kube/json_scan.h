/* Finds where JSON values begin and end, no more: what is inside, cJSON checks
 * (kube/value.h). Fast over what nobody wants to read. Pure. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct value;

/* What is left to pass. */
struct scan {
	const char *at;
	const char *end;
};

/* A piece of the text: one JSON value. */
struct slice {
	const char *text;
	size_t len;
};

void scan_blank(struct scan *s);

/* Passes c if it comes next, after blanks. */
bool scan_char(struct scan *s, char c);

/* Passes a value, after blanks. False: there is none, or it does not end. */
bool scan_value(struct scan *s, struct slice *out);

/* value_parse() of an object of the API server's, or what has some inside,
 * without their managedFields: a third of the text and half of the tree, of
 * use to those alone who apply changes. */
must_check int scan_parse(struct value **out, const char *text, size_t len,
	struct error *err);
