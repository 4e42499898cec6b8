/* Reads JSON files that are not trusted, and members of their objects. *out is
 * untouched on failure.
 *
 * -EBADMSG: wrong type or value; -ERANGE, -E2BIG: outside the limits. */
#pragma once

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>

/* Appends a file ("-": standard input); out->data is then not NULL. Errors as
 * file_read_input(). */
must_check int json_fields_read_file(struct buffer *out, const char *path,
	struct error *err);

/* Includes both ends. */
struct json_range {
	double min, max;
};

must_check int json_fields_number(double *out, const struct json_value *object,
	const char *key, struct json_range range, struct error *err);

/* A whole number from 0 to max. */
must_check int json_fields_whole(int64_t *out, const struct json_value *object,
	const char *key, double max, struct error *err);
must_check int json_fields_step(size_t *out, const struct json_value *object,
	const char *key, size_t max, struct error *err);

/* 1 to 253 bytes of UTF-8. The caller frees *out. */
must_check int json_fields_name(char **out, const struct json_value *object,
	const char *key, struct error *err);

/* A list of at most max elements; borrowed. */
must_check int json_fields_list(const struct json_value **out,
	const struct json_value *object, const char *key, size_t max,
	struct error *err);

/* The same for a list that may be missing: *out is then NULL. */
must_check int json_fields_optional_list(const struct json_value **out,
	const struct json_value *object, const char *key, size_t max,
	struct error *err);
