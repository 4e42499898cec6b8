/* Authentication of agents and schedulers by connection.
 *
 * A Hello is welcomed at once, or after an access review of its token. The
 * connection then has that node, process and role. If another agent reports for
 * the node (ingest/node_owner.h), the Hello is refused until WIRE_AUTH_RETRY_MS
 * later. An access review is valid
 * for WIRE_AUTH_US, so that a revoked token is noticed. While the API server
 * cannot be asked, a connection that was authenticated may extend its session
 * with the same Hello; see ingest/wire_sessions.h for the limit. */
#pragma once

#include "auth/access_review.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"

#define WIRE_AUTH_US UINT64_C(600000000)
#define WIRE_AUTH_EXTENSION_US UINT64_C(60000000)
enum { WIRE_AUTH_RETRY_MS = 1000 };

struct node_owners;

struct wire_auth;

/* Both outlive it. review NULL: no authentication, and a scheduler needs no
 * Hello. Never NULL. */
struct wire_auth *wire_auth_new(struct access_review *review,
	struct node_owners *owners);

/* Answers the request now or later, before access_review_stop() returns. */
void wire_auth_hello(struct wire_auth *auth, struct mq_request *request,
	const struct hello *hello);

/* The agent of this request's connection; NULL: a Hello is required. */
const struct hello *wire_auth_agent(const struct wire_auth *auth,
	const struct mq_request *request);

/* The agent sends a batch; interval_ms is that of its newest report, or 0 if
 * the batch has none of its own. False: another agent reports for the node, and
 * a Hello is required. */
bool wire_auth_reports(const struct wire_auth *auth, const struct hello *agent,
	uint32_t interval_ms);

/* False: a scheduler's Hello is required. */
bool wire_auth_allows_scheduler(const struct wire_auth *auth,
	const struct mq_request *request);

/* A number for the peer of this request, equal for all of its connections: its
 * node and role if they are authenticated, else the address of its host. */
uint64_t wire_auth_peer(const struct wire_auth *auth,
	const struct mq_request *request);

void wire_auth_free(struct wire_auth *auth); /* NULL is fine */
