/* Errors: a code to decide by and one sentence to read.
 *
 * A fallible function returns 0 or a negative errno value, takes a struct
 * error as its last parameter and leaves its outputs untouched on failure.
 * The sentence is lower case without a full stop, says first what failed and
 * last why. NULL is accepted by every function here: the caller does not care
 * for the sentence. Logging is the business of whoever gives up, not ours. */
#pragma once

#define must_check __attribute__((warn_unused_result))

struct error {
	int code;	/* the negative errno value that was returned, or 0 */
	char text[320]; /* the sentence, cut at the end where it is too long */
};

/* Sets code and sentence. Returns code, so that it can end a function. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the present errno as code; its text is appended. */
int error_errno(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts "context: " before the sentence that is there. Returns code. */
int error_wrap(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
