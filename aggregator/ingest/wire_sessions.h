/* The last Hello of each connection, and until when it is valid.
 *
 * nng does not report that a connection has closed, so the table has a fixed
 * size and a new connection replaces an older one. nng numbers connections in
 * sequence, so the replaced one is WIRE_SESSIONS_MAX connections old. If that
 * one is still open, it has to send its Hello again, which costs a round trip
 * and nothing else. */
#pragma once

#include "proto/wire.h"

enum { WIRE_SESSIONS_MAX = 32768 }; /* a power of two above LIVE_NODES_MAX */

/* How long after its end a session can be extended: an authenticated connection
 * continues while the API server is away, but not forever. */
#define WIRE_SESSIONS_GRACE_US UINT64_C(3600000000)

struct wire_sessions;

struct wire_sessions *wire_sessions_new(void);		 /* never NULL */
void wire_sessions_free(struct wire_sessions *sessions); /* NULL is fine */

/* Valid until until_us; UINT64_MAX: as long as the connection. The token is not
 * kept. */
void wire_sessions_put(struct wire_sessions *sessions, uint32_t pipe,
	const struct hello *hello, uint64_t until_us);

/* Makes the pipe's last Hello valid until until_us. False: that Hello had
 * another node, process or role, there was none, or it ended too long before
 * now. */
bool wire_sessions_extend(struct wire_sessions *sessions, uint32_t pipe,
	const struct hello *hello, uint64_t now_us, uint64_t until_us);

/* NULL: the pipe has no Hello, or it was replaced, or has ended. */
const struct hello *wire_sessions_find(const struct wire_sessions *sessions,
	uint32_t pipe, uint64_t now_us);
