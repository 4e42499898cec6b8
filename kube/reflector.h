/* Follows all objects of one kind on the API server: one list, which is read
 * while it arrives, and then a watch.
 *
 * Handles every failure of the server itself (restarts, 410 Gone, silence,
 * throttling, an etcd restored to an earlier revision) and waits 1 to 30 s
 * between failures. A watch that is silent for 90 s is replaced by one on a new
 * connection, because a load balancer may have dropped the server's side
 * alone; it goes on at the last version, and a list follows only if the server
 * does not know that version any more or does not answer. Keeps only the keys
 * and uids of the objects, to report those that were deleted while no watch was
 * open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct reflector;
struct json_value;

/* Identifies an object; borrowed for the call. */
struct reflector_id {
	const char *namespace_name; /* "" for kinds without namespaces */
	const char *name;
	const char *uid;
};

struct reflector_handler {
	/* The object exists in this state. After a gap this is also called for
	 * unchanged objects. object is borrowed for the call; from a
	 * list it has no kind and apiVersion. */
	void (*on_object)(void *owner, const struct reflector_id *id,
		const struct json_value *object);
	/* The object was deleted or no longer matches the selector. If an
	 * object was recreated under its name, its old uid is reported
	 * first. */
	void (*on_deleted)(void *owner, const struct reflector_id *id);
	/* All objects have been reported; called once. */
	void (*on_synced)(void *owner);
	void *owner; /* outlives the reflector */
};

struct reflector_options {
	const char *path;	    /* /api/v1/pods */
	const char *field_selector; /* status.phase!=Failed; or NULL */
	const char *label_selector; /* or NULL */
};

struct reflector_state {
	bool is_synced;	  /* all objects have been reported once */
	bool is_watching; /* no events are being missed */
	/* Monotonic time of the last bytes from the server, or 0: how old the
	 * objects may be. Bookmarks arrive about once a minute even if nothing
	 * changes, so 90 s is the most while the server can be reached. */
	uint64_t contact_us;
	/* The last failure, "" once it is over; borrowed until the loop runs */
	const char *last_error;
	/* The server refused the request: it does not serve the kind, or not to
	 * this account, or not now. */
	bool is_refused;
};

/* Starts at once. options and handler are copied. Never NULL. */
struct reflector *reflector_new(struct kube_client *client,
	const struct reflector_options *options,
	const struct reflector_handler *handler);

/* Lists all objects again, and so calls on_object for each. Not to be called by
 * a handler of this reflector. */
void reflector_list_again(struct reflector *reflector);

struct reflector_state reflector_state(const struct reflector *reflector);

/* Calls no handler any more and frees itself. Call this before the client is
 * closed; a handler may call it. NULL is fine. */
void reflector_close(struct reflector *reflector);
