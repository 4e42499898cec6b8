#include "aggregator/ingest/wire_auth.h"

#include "aggregator/ingest/wire_sessions.h"
#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <stdlib.h>

struct wire_auth {
	struct access_review *review; /* NULL: no authentication */
	struct wire_sessions *sessions;
};

/* A Hello that is being reviewed. */
struct pending {
	struct wire_auth *auth;
	struct mq_request *request;
	struct hello hello; /* without its token */
};

static void welcome(struct mq_request *request)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	wire_pack_welcome(&out, plimsoll_version);
	mq_reply(request, (const uint8_t *)out.data, out.len);
}

static void refuse(struct mq_request *request, const struct error *why)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);

	wire_pack_refused(&out, why->text);
	mq_reply(request, (const uint8_t *)out.data, out.len);
}

static void on_reviewed(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct pending *pending = owner;
	struct wire_sessions *sessions = pending->auth->sessions;
	uint32_t pipe = mq_request_pipe(pending->request);
	uint64_t now_us = clock_monotonic_us();
	bool is_extended = outcome == ACCESS_REVIEW_UNREACHABLE &&
		wire_sessions_extend(sessions, pipe, &pending->hello, now_us,
			now_us + WIRE_AUTH_EXTENSION_US);

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		wire_sessions_put(sessions, pipe, &pending->hello,
			now_us + WIRE_AUTH_US);
	}
	if (outcome == ACCESS_REVIEW_ALLOWED || is_extended) {
		welcome(pending->request);
	} else {
		refuse(pending->request, why);
	}
	free(pending);
}

void wire_auth_hello(struct wire_auth *auth, struct mq_request *request,
	const struct hello *hello)
{
	struct pending *pending;

	if (auth->review == NULL) {
		wire_sessions_put(auth->sessions, mq_request_pipe(request),
			hello, UINT64_MAX);
		welcome(request);
		return;
	}
	pending = xcalloc(1, sizeof(*pending));
	pending->auth = auth;
	pending->request = request;
	pending->hello = *hello;
	pending->hello.token = NULL;
	access_review_start(auth->review,
		&(struct access_review_request){
			.right = hello->role == HELLO_AGENT
				? ACCESS_REVIEW_REPORT
				: ACCESS_REVIEW_SNAPSHOT,
			.token = hello->token,
			.subject = hello->node,
			.done = on_reviewed,
			.owner = pending,
		});
}

static const struct hello *find(const struct wire_auth *auth,
	const struct mq_request *request, enum hello_role role)
{
	const struct hello *hello = wire_sessions_find(auth->sessions,
		mq_request_pipe(request), clock_monotonic_us());

	return hello != NULL && hello->role == role ? hello : NULL;
}

const struct hello *wire_auth_agent(const struct wire_auth *auth,
	const struct mq_request *request)
{
	return find(auth, request, HELLO_AGENT);
}

bool wire_auth_allows_scheduler(const struct wire_auth *auth,
	const struct mq_request *request)
{
	return auth->review == NULL ||
		find(auth, request, HELLO_SCHEDULER) != NULL;
}

uint64_t wire_auth_peer(const struct wire_auth *auth,
	const struct mq_request *request)
{
	const struct hello *hello = wire_sessions_find(auth->sessions,
		mq_request_pipe(request), clock_monotonic_us());

	return auth->review == NULL || hello == NULL
		? mq_request_host(request)
		: hash_text((uint64_t)hello->role, hello->node);
}

struct wire_auth *wire_auth_new(struct access_review *review)
{
	struct wire_auth *auth = xcalloc(1, sizeof(*auth));

	auth->review = review;
	auth->sessions = wire_sessions_new();
	return auth;
}

void wire_auth_free(struct wire_auth *auth)
{
	if (auth != NULL) {
		wire_sessions_free(auth->sessions);
		free(auth);
	}
}
