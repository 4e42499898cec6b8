/* Splits chunks of bytes into lines, as a watch sends them.
 *
 * Searches only new bytes for a newline and does not copy a line that arrives
 * in one piece. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct line_reader {
	struct buffer partial; /* the beginning of an incomplete line */
	size_t max;	       /* bytes in a line */
};

/* Receives a line without its newline, not NUL-terminated, borrowed for the
 * call. False stops: line_reader_feed() then returns 0 and does not use the
 * reader any more. */
typedef bool (*line_reader_each)(void *owner, const char *line, size_t len);

void line_reader_init(struct line_reader *reader, size_t max);
void line_reader_fini(struct line_reader *reader); /* zeroed is fine */

/* Calls each for every complete line that is not empty.
 * -EMSGSIZE: a line exceeds the maximum; the reader is unusable after that. */
must_check int line_reader_feed(struct line_reader *reader, const char *bytes,
	size_t len, line_reader_each each, void *owner, struct error *err);
