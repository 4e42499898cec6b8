/* Text from the cluster, made safe for a terminal.
 *
 * Names and messages can hold sequences that move the cursor, rename a window
 * or turn the direction of a line. Such characters become visible escapes:
 * \x1b, \u202e. So do bytes that are not UTF-8. Everything else stays. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

/* Whether the valid character at text, of length bytes, is a control character,
 * invisible, or changes how its neighbours look. *c is its code point. */
bool escape_is_hidden(uint32_t *c, const char *text, size_t length);

/* Appends text as part of one line: newlines and tabs are escaped too. */
void escape_text(struct buffer *out, const char *text);

/* The same into new memory, which the caller frees; "" for NULL. Texts above
 * ESCAPE_TEXT_MAX bytes end there. */
char *escape_copy(const char *text);
enum { ESCAPE_TEXT_MAX = 4096 };

/* Appends len bytes of lines, which end with a NUL behind them. Newlines and
 * tabs stay. */
void escape_lines(struct buffer *out, const char *lines, size_t len);
