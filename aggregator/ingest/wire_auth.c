#include "aggregator/ingest/wire_auth.h"

#include "aggregator/ingest/ingest_reply.h"
#include "aggregator/ingest/node_owner.h"
#include "aggregator/ingest/wire_sessions.h"
#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <stdlib.h>

struct wire_auth {
	struct access_review *review; /* NULL: no authentication */
	struct wire_sessions *sessions;
	struct node_owners *owners;
};

/* A Hello that is being reviewed. */
struct pending {
	struct wire_auth *auth;
	struct mq_request *request;
	struct hello hello;		/* without its token */
	struct access_review_pod pod;	/* of its token */
	struct access_review_pod older; /* of the agent that reports */
	uint64_t until_us;		/* 0: the session was extended */
};

static void welcome(struct mq_request *request)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	wire_pack_welcome(&out, plimsoll_version);
	ingest_reply_bytes(request, &out);
}

static bool claim(const struct wire_auth *auth, const struct hello *hello,
	const struct access_review_pod *pod)
{
	return hello->role != HELLO_AGENT ||
		node_owners_claim(auth->owners,
			&(struct node_claim){ hello->node, hello->run_id,
				pod->path, pod->uid },
			clock_monotonic_us());
}

static void refuse_rival(const struct wire_auth *auth,
	struct mq_request *request, const struct hello *hello)
{
	struct error why;

	(void)error_set(&why, -EBUSY,
		"another agent reports for node '%.100s': this one waits until "
		"that one ends or is silent",
		hello->node);
	ingest_reply_refused(request, &why, WIRE_AUTH_RETRY_MS);
	if (node_owners_may_log(auth->owners, hello->node,
		    clock_monotonic_us())) {
		log_warning("two agents for one node: the younger one waits",
			log_str("node", hello->node), LOG_END);
	}
}

static void admit(const struct pending *pending)
{
	if (pending->until_us > 0) {
		wire_sessions_put(pending->auth->sessions,
			mq_request_pipe(pending->request), &pending->hello,
			pending->until_us);
	}
	welcome(pending->request);
}

/* The pod of the agent that reports for the node. */
static void on_pod(void *owner, bool leaves)
{
	struct pending *pending = owner;
	struct wire_auth *auth = pending->auth;

	if (leaves) {
		node_owners_dismiss(auth->owners, pending->hello.node,
			pending->older.uid);
	}
	if (claim(auth, &pending->hello, &pending->pod)) {
		admit(pending);
	} else {
		refuse_rival(auth, pending->request, &pending->hello);
	}
	free(pending);
}

/* Takes pending. */
static void admit_one(struct pending *pending)
{
	const struct wire_auth *auth = pending->auth;

	if (claim(auth, &pending->hello, &pending->pod)) {
		admit(pending);
	} else if (node_owners_pod(auth->owners, pending->hello.node,
			   pending->older.path, pending->older.uid)) {
		access_review_pod_leaves(auth->review, &pending->older, on_pod,
			pending);
		return;
	} else {
		refuse_rival(auth, pending->request, &pending->hello);
	}
	free(pending);
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
		pending->until_us = now_us + WIRE_AUTH_US;
	}
	if (outcome == ACCESS_REVIEW_ALLOWED || is_extended) {
		admit_one(pending);
	} else {
		ingest_reply_refused(pending->request, why, 0);
		free(pending);
	}
}

void wire_auth_hello(struct wire_auth *auth, struct mq_request *request,
	const struct hello *hello)
{
	struct pending *pending = xcalloc(1, sizeof(*pending));

	pending->auth = auth;
	pending->request = request;
	pending->hello = *hello;
	pending->hello.token = NULL;
	if (auth->review == NULL) {
		pending->until_us = UINT64_MAX;
		admit_one(pending);
		return;
	}
	access_review_start(auth->review,
		&(struct access_review_request){
			.right = hello->role == HELLO_AGENT
				? ACCESS_REVIEW_REPORT
				: ACCESS_REVIEW_SNAPSHOT,
			.token = hello->token,
			.subject = hello->node,
			.done = on_reviewed,
			.owner = pending,
			.pod = &pending->pod,
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

bool wire_auth_reports(const struct wire_auth *auth, const struct hello *agent,
	uint32_t interval_ms)
{
	return node_owners_report(auth->owners,
		&(struct node_claim){ agent->node, agent->run_id, "", "" },
		interval_ms, clock_monotonic_us());
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

struct wire_auth *wire_auth_new(struct access_review *review,
	struct node_owners *owners)
{
	struct wire_auth *auth = xcalloc(1, sizeof(*auth));

	auth->review = review;
	auth->owners = owners;
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
