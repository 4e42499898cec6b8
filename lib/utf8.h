/* UTF-8 for writers of JSON and labels: bytes from outside may be anything, and
 * a single invalid byte makes the whole text invalid. */
#pragma once

#include "lib/buffer.h"

#include <stddef.h>

/* The length of the character at text, 1 to 4 bytes; 0 if it is not valid UTF-8
 * (RFC 3629, section 4). */
size_t utf8_length(const char *text);

/* Appends the character at text, or U+FFFD for an invalid byte, and returns its
 * length in text. *text is not NUL. */
size_t utf8_append(struct buffer *out, const char *text);
