/* A Placement or Plan as a user sends it, and with the scheduler's answer.
 * Pure. */
#pragma once

#include "aggregator/apiserver/rest_path.h"
#include "lib/buffer.h"

enum { QUESTION_NAME_MAX = 254 };

struct question_object {
	char name[QUESTION_NAME_MAX]; /* "": none */
	char *spec;		      /* JSON, as it was sent */
	size_t spec_len;
};

/* Reads an object for this path; the caller calls question_object_fini(). 0, or
 * the HTTP status of an error in err. */
must_check int question_object_read(struct question_object *out,
	const struct rest_path *path, const char *body, size_t len,
	struct error *err);
void question_object_fini(struct question_object *object); /* zeroed is fine */

/* Appends the object with the JSON of its status. */
void question_object_write(struct buffer *out,
	const struct question_object *object, const struct rest_path *path,
	const char *status);
