/* The client's side of the wire protocol on one connection: when to say Hello,
 * and what kind of reply came. Pure; agents and schedulers share it.
 *
 * A client says Hello when the connection begins, if it must, and whenever the
 * aggregator asks for Hello in an Ack. Each request gets one reply. */
#pragma once

#include "proto/wire.h"

#include <stdbool.h>

struct wire_session {
	bool needs_hello; /* the next request is Hello */
	bool sent_hello;  /* the request under way is Hello */
	bool is_unproven; /* welcomed, but no other reply came since */
};

enum wire_session_event {
	WIRE_SESSION_REPLY,	 /* to a request of the caller's */
	WIRE_SESSION_WELCOMED,	 /* Hello was accepted */
	WIRE_SESSION_REFUSED,	 /* reply->refused says why */
	WIRE_SESSION_HELLO_DUE,	 /* the aggregator does not know this client */
	WIRE_SESSION_HELLO_LOOP, /* the same again right after a Welcome: wait */
	WIRE_SESSION_UNEXPECTED, /* the reply does not fit the request */
};

/* A request is about to be sent. True: it must be Hello. */
bool wire_session_begin(struct wire_session *session);

/* Says what the reply to that request means. */
enum wire_session_event wire_session_take(struct wire_session *session,
	const struct wire_reply *reply);
