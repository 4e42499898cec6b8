/* A watch: the lines in the chunks of bytes that arrive, and the event in each
 * line. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_value;

/* Splits chunks of bytes into lines. Searches only new bytes for a newline and
 * does not copy a line that arrives in one piece. */
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

enum watch_event_type {
	WATCH_CHANGED,	/* ADDED or MODIFIED */
	WATCH_DELETED,	/* the object in its last state */
	WATCH_BOOKMARK, /* no change up to this resourceVersion */
	WATCH_EXPIRED,	/* the resourceVersion is too old: list again */
	WATCH_ERROR,	/* any other failure; see message */
};

struct watch_event {
	struct json_value *root; /* owns everything else */
	enum watch_event_type type;
	const struct json_value *object;
	const char *resource_version; /* opaque; "" for errors */
	const char *message;	      /* "" unless an error */
};

/* The caller calls watch_event_fini() on success.
 * -EBADMSG: not a watch event. */
must_check int watch_event_parse(struct watch_event *out, const char *line,
	size_t len, struct error *err);

void watch_event_fini(struct watch_event *event); /* zeroed is fine */
