/* Lines out of chunks of bytes: how a watch is framed.
 *
 * A newline is looked for in new bytes only, and a line that arrives whole is
 * not copied. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct lines {
	struct buffer partial; /* the start of a line whose end is to come */
	size_t max;	       /* bytes in a line */
};

/* Gets a line without its newline; not NUL-terminated, borrowed for the call.
 * False stops: lines_feed() then returns 0 and does not touch the struct lines
 * again. */
typedef bool (*lines_each)(void *owner, const char *line, size_t len);

void lines_init(struct lines *lines, size_t max);
void lines_fini(struct lines *lines); /* zeroed is fine */

/* Calls each for every line that is complete now; empty ones are left out.
 * -EMSGSIZE: a line is longer than the maximum; the rest is of no use then. */
must_check int lines_feed(struct lines *lines, const char *bytes, size_t len,
	lines_each each, void *owner, struct error *err);
