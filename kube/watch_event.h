/* One line of a watch: what happened to which object. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct value;

enum watch_kind {
	WATCH_OBJECT,	/* ADDED or MODIFIED */
	WATCH_GONE,	/* DELETED: the object in its last state */
	WATCH_BOOKMARK, /* nothing happened up to this resourceVersion */
	WATCH_EXPIRED,	/* our resourceVersion is too old: list again */
	WATCH_ERROR,	/* anything else that went wrong: message says what */
};

struct watch_event {
	struct value *root; /* owns all the rest */
	enum watch_kind kind;
	const struct value *object;
	const char *resource_version; /* opaque; "" with errors */
	const char *message;	      /* "" without error */
};

/* The caller calls watch_event_fini() on success.
 * -EBADMSG: not a watch event. */
must_check int watch_event_parse(struct watch_event *out, const char *line,
	size_t len, struct error *err);

void watch_event_fini(struct watch_event *event); /* zeroed is fine */
