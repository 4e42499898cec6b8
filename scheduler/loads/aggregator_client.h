/* A connection to one aggregator: one request at a time. Hello comes first if
 * there is a token, and whenever the aggregator asks for it. The client logs
 * failures at most every 10 s and tries again. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/options.h"
#include "lib/tls/credentials.h"
#include "lib/tls/tls_watch.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct aggregator_client;
struct cache;
struct move_record;
struct node_load;
struct queue;

/* The options of all modules that use the aggregators (see aggregators.h). All
 * pointers outlive these modules. */
struct aggregators_options {
	const struct option_list *urls;
	const struct credentials *credentials;
	struct tls_watch *tls; /* set by aggregators_open(); NULL: tcp */
	struct queue *queue;   /* pods that wait for profiles */
	struct cache *cache;   /* running pods */
	/* sample_us: when the node's newest sample was taken, on the local
	 * monotonic clock. load is borrowed for the call. */
	void (*on_node)(void *owner, const struct node_load *load,
		int64_t sample_us);
	/* A pod that waited for its VM's profile can be scheduled now. */
	void (*on_profile)(void *owner);
	bool has_moves; /* this scheduler moves VMs, or recommends moves */
	/* A record of a move, as an earlier leader left it. Borrowed for the
	 * call. */
	void (*on_move)(void *owner, const struct move_record *record);
	void *owner;
};

enum aggregator_client_verdict {
	AGGREGATOR_CLIENT_NEXT,	     /* the next request, at once */
	AGGREGATOR_CLIENT_WAIT,	     /* the next request, in a while */
	AGGREGATOR_CLIENT_UNEXPECTED /* the reply does not fit the request */
};

struct aggregator_client_options {
	const char *url; /* these two outlive the client */
	const struct credentials *credentials;
	struct tls_watch *tls; /* outlives the client; NULL: tcp */
	size_t request_max;    /* bytes of the largest request */
	const char *failure;   /* the log message of every failure */
	/* Appends the next request. False: there is none until the next call of
	 * aggregator_client_send_next(). */
	bool (*next)(void *owner, struct buffer *out);
	enum aggregator_client_verdict (
		*reply)(void *owner, const struct wire_reply *reply);
	/* The aggregator refused the request for good. True: the next request
	 * is another one, and follows at once. NULL: the same one again. */
	bool (*refused)(void *owner);
	void *owner;
};

/* Connects in the background. -EINVAL: the URL or the TLS material is
 * invalid. */
must_check int aggregator_client_new(struct aggregator_client **out,
	uv_loop_t *loop, const struct aggregator_client_options *options,
	struct error *err);

/* Sends the next request unless one is under way or the client waits. */
void aggregator_client_send_next(struct aggregator_client *client);

bool aggregator_client_is_connected(const struct aggregator_client *client);

/* Logs why the client is not connected, if it is not. */
void aggregator_client_log_failure(struct aggregator_client *client);

/* The client frees itself later. NULL is fine. */
void aggregator_client_close(struct aggregator_client *client);
