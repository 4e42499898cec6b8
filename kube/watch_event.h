/* One event of a watch, parsed from its line. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_value;

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
