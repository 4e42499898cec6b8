/* All objects of one kind, as the API server has them: list, then watch.
 *
 * It survives everything the server does (restarts, 410 Gone, silence,
 * throttling, a store that was restored to an earlier revision) by itself, waiting 1 to 30 s between failures. It does not keep
 * the objects, only which ones there are, so that after a gap it can say which
 * have vanished meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct reflector;
struct value;

/* Which object; borrowed for the call. */
struct reflector_id {
	const char *namespace_name; /* "" for kinds without namespaces */
	const char *name;
	const char *uid;
};

struct reflector_handler {
	/* It is there and looks like this now; also for what did not change,
	 * after a gap. object is borrowed for the call; in lists it has neither
	 * kind nor apiVersion. */
	void (*on_object)(void *owner, const struct reflector_id *id,
		const struct value *object);
	/* It is gone, or no longer matches the selector. An object made anew
	 * under its old name is first reported gone under its old uid. */
	void (*on_gone)(void *owner, const struct reflector_id *id);
	/* Once: the first list is complete. */
	void (*on_synced)(void *owner);
	void *owner; /* outlives the reflector */
};

struct reflector_options {
	const char *path;	    /* /api/v1/pods */
	const char *field_selector; /* status.phase!=Failed; or NULL */
	const char *label_selector; /* or NULL */
};

/* How it stands. */
struct reflector_state {
	bool is_synced;	     /* the first list was complete */
	bool is_watching;    /* nothing is missed at this moment */
	uint64_t contact_us; /* monotonic: last heard from the server, or 0.
	                      * A quiet watch hears once a minute (bookmarks) */
	const char *trouble; /* the last failure until things are well again, or
	                      * ""; borrowed until the loop runs */
	bool is_refused; /* that failure was the server's answer: it does not
	                  * serve this, or not to us, or not now */
};

/* Starts at once. options and handler are copied. Never NULL. */
struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler);

struct reflector_state reflector_state(const struct reflector *reflector);

/* No handler is called any more; frees itself. Before its client is closed;
 * may be called from a handler. NULL is fine. */
void reflector_close(struct reflector *reflector);
