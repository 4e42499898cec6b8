/* Questions of users, which aggregators pass on to the leading scheduler.
 *
 * While this replica leads, a request is parked at every aggregator. Each of
 * them may pass on QUESTIONS_HELD_MAX questions at a time; answers go out on
 * another connection. An aggregator that is too old for questions refuses the
 * request: the client logs that once and tries again after
 * QUESTION_CLIENT_OLD_US, or when the aggregator connects again. */
#pragma once

#include "lib/error.h"
#include "proto/question.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define QUESTION_CLIENT_OLD_US UINT64_C(3600000000)
enum { QUESTION_CLIENT_POLL_MS = 500 };

struct aggregators_options;
struct question_client;

/* A question that this scheduler holds. */
struct question_ref {
	size_t aggregator;
	uint64_t id, term;
};

struct question_listener {
	bool (*leads)(void *owner);
	/* question_client_answer() must follow, now or later. question is
	 * borrowed for the call. */
	void (*ask)(void *owner, const struct question *question,
		struct question_ref ref);
	void *owner; /* outlives the client, or its last event */
};

/* Fills *out, which is zeroed, for the next request that is parked. */
struct rebalance_teller {
	void (*tell)(void *owner, struct rebalance_state *out);
	void *owner; /* outlives the client, or its replacement */
};

/* Uses urls and credentials. Errors as aggregator_client_new(). */
must_check int question_client_new(struct question_client **out,
	uv_loop_t *loop, const struct aggregators_options *options,
	struct error *err);

/* Starts. Without it the client does nothing. */
void question_client_listen(struct question_client *client,
	const struct question_listener *listener);

/* From the next request on. Zeroed, as before the first call: nobody tells. */
void question_client_tell(struct question_client *client,
	const struct rebalance_teller *teller);

/* Asks the teller; zeroed without one. */
void question_client_rebalance(const struct question_client *client,
	struct rebalance_state *out);

/* Sends the answer. status is of HTTP; with 200 the body is JSON, else it is a
 * sentence; at most ANSWER_BODY_MAX bytes, copied. A question that is not held
 * any more is ignored. If this replica leads no longer, the question goes back
 * to the aggregator instead. */
void question_client_answer(struct question_client *client,
	const struct question_ref *ref, unsigned status, const char *body,
	size_t len);

void question_client_close(struct question_client *client); /* NULL is fine */
