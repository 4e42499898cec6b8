/* UTF-8, as far as who writes JSON or labels must know it: bytes that come from
 * outside may be anything, and one wrong byte spoils the whole text. */
#pragma once

#include "lib/buffer.h"

#include <stddef.h>

/* Bytes of the character that begins at text, 1 to 4; 0 if none does (RFC 3629,
 * section 4). */
size_t utf8_length(const char *text);

/* Appends the character that text begins with, or U+FFFD for a byte that is
 * none; returns how many bytes of text that was. *text is no NUL. */
size_t utf8_append(struct buffer *out, const char *text);
