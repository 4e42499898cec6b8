/* `plimsoll-scheduler score --in FILE`: a decision over recorded state.
 *
 * The same code as a real decision, so what it prints is what the scheduler
 * would do with these pods, nodes and loads. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>
#include <stdio.h>

#define SCORE_INPUT_MAX ((size_t)256 << 20)

/* Reads path ("-": standard input) and prints the answer as one line of JSON.
 * -EBADMSG, -EINVAL, -E2BIG, -EFBIG or what reading said: nothing was
 * printed, and the sentence says what is wrong with the input. */
must_check int score_command(const char *path, FILE *out, struct error *err);

/* The same from text to text; appends to out. */
must_check int score_text(struct buffer *out, const char *text, size_t len,
	struct error *err);
