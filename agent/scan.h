/* Reads the kernel's text formats from left to right.
 *
 * Every function looks at NUL-terminated text, moves only over what it
 * accepted and never allocates. Numbers are plain decimal digits: no sign, no
 * base, no locale, and one that does not fit is no number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
};

/* Moves over text if it stands here. */
bool scan_text(struct scan *s, const char *text);

/* Moves over a number of at most 64 bits. *out is untouched on failure. */
bool scan_u64(struct scan *s, uint64_t *out);

/* The same for "12" or "0.25", as /proc/loadavg prints it: the nearest double, if
 * there are 15 digits at most; further ones behind the point are left out. */
bool scan_decimal(struct scan *s, double *out);

/* Moves over blanks and tabs, any number of them. */
void scan_blanks(struct scan *s);

/* Moves to the next blank, newline or the end. */
void scan_word(struct scan *s);

/* Moves behind the next newline, or to the end. */
void scan_line(struct scan *s);

bool scan_end(const struct scan *s);

/* A line "key value", and where its value goes. */
struct scan_want {
	const char *key;
	uint64_t *value;
};

/* Finds the wanted keys among lines of "key value ..."; a value that is not
 * there or no number is left as it was. Returns how many were found. */
size_t scan_keyed(const char *text, const struct scan_want *want, size_t count);

/* A file of one number. *out is untouched if it holds something else. */
bool scan_single(const char *text, uint64_t *out);
