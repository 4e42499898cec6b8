/* Errors: a code for the program and one sentence for people.
 *
 * A function that can fail returns 0 or a negative errno value, takes a struct
 * error as its last parameter and leaves its outputs unchanged on failure. The
 * sentence is lower case without a full stop; it names what failed, then the
 * cause. All functions here accept NULL if the caller needs no sentence. They
 * do not log: the code that gives up does. */
#pragma once

#define must_check __attribute__((warn_unused_result))

struct error {
	int code;	/* the negative errno value that was returned, or 0 */
	char text[320]; /* the sentence, truncated if too long */
};

/* Sets code and sentence. Returns code, so that it can end a function. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with errno as the code; its text is appended. */
int error_errno(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prefixes the existing sentence with "context: ". Returns code. */
int error_wrap(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
