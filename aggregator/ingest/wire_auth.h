/* Authentication of agents and schedulers by connection.
 *
 * A Hello is welcomed at once, or after an access review of its token. The
 * connection then has that node, process and role. An access review is valid
 * for WIRE_AUTH_US, so that a revoked token is noticed. While the API server
 * cannot be asked, a connection that was authenticated may extend its session
 * with the same Hello; see ingest/wire_sessions.h for the limit. */
#pragma once

#include "aggregator/auth/access_review.h"
#include "lib/mq.h"
#include "proto/wire.h"

#define WIRE_AUTH_US UINT64_C(600000000)
#define WIRE_AUTH_EXTENSION_US UINT64_C(60000000)

struct wire_auth;

/* review outlives it; NULL: no authentication, and a scheduler needs no Hello.
 * Never NULL. */
struct wire_auth *wire_auth_new(struct access_review *review);

/* Answers the request now or later, before access_review_stop() returns. */
void wire_auth_hello(struct wire_auth *auth, struct mq_request *request,
	const struct hello *hello);

/* The agent of this request's connection; NULL: a Hello is required. */
const struct hello *wire_auth_agent(const struct wire_auth *auth,
	const struct mq_request *request);

/* False: a scheduler's Hello is required. */
bool wire_auth_allows_scheduler(const struct wire_auth *auth,
	const struct mq_request *request);

/* A number for the peer of this request, equal for all of its connections: its
 * node and role if they are authenticated, else the address of its host. */
uint64_t wire_auth_peer(const struct wire_auth *auth,
	const struct mq_request *request);

void wire_auth_free(struct wire_auth *auth); /* NULL is fine */
