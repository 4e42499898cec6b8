/* `plimsoll-scheduler score --in FILE`: one decision, without a cluster.
 *
 * Runs the code of a real decision, so the result is what the scheduler would
 * do with these pods, nodes and loads. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/program.h"

#include <stddef.h>
#include <stdio.h>

extern const struct program score_program;

/* Reads path ("-": standard input) and prints the result to out. Errors as
 * score_text() and of reading; nothing is printed then. */
must_check int score_command(const char *path, FILE *out, struct error *err);

/* Decides by the input, a JSON text, and appends the result as one line of JSON
 * to out. -EBADMSG, -EINVAL, -E2BIG, -EFBIG: the input is invalid. */
must_check int score_text(struct buffer *out, const char *text, size_t len,
	struct error *err);
