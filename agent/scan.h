/* Parses the kernel's text formats from left to right.
 *
 * The text is NUL-terminated. A function that fails does not move. No function
 * allocates. Numbers are plain decimal digits: no sign, no base, no locale, and
 * digits that overflow are no number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
};

/* Moves over text if it comes next. */
bool scan_text(struct scan *s, const char *text);

/* Moves over a number of at most 64 bits. *out is untouched on failure. */
bool scan_u64(struct scan *s, uint64_t *out);

/* The same for "12" or "0.25", as in /proc/loadavg: the nearest double. */
bool scan_decimal(struct scan *s, double *out);

/* Moves over any number of spaces and tabs. */
void scan_blanks(struct scan *s);

/* Moves to the next space, tab or newline, or to the end. */
void scan_word(struct scan *s);

/* Moves past the next newline, or to the end. */
void scan_line(struct scan *s);

bool scan_end(const struct scan *s);

/* The key of a line "key value", and the variable for its value. */
struct scan_field {
	const char *key;
	uint64_t *value;
};

/* Finds the keys of fields among lines of "key value ...". A value that is
 * missing or no number is not changed. Returns how many values were found. */
size_t scan_keyed(const char *text, const struct scan_field *fields,
	size_t count);

/* Parses the text of a file that holds one number. False: the text is something
 * else, and *out is untouched. */
bool scan_single(const char *text, uint64_t *out);
