#include "aggregator/ingest/wire_auth.h"

#include "aggregator/ingest/wire_sessions.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <stdlib.h>

struct admission {
	struct review *review; /* NULL: everyone is welcome */
	struct greeted *greeted;
};

/* A Hello that is being reviewed. */
struct arrival {
	struct admission *admission;
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

static void on_reviewed(void *owner, enum review_outcome outcome,
	const struct error *why)
{
	struct arrival *arrival = owner;
	struct greeted *greeted = arrival->admission->greeted;
	uint32_t pipe = mq_request_pipe(arrival->request);
	uint64_t now_us = clock_monotonic_us();
	bool is_extended = outcome == REVIEW_UNREACHABLE &&
		greeted_extend(greeted, pipe, &arrival->hello, now_us,
			now_us + ADMISSION_EXTENSION_US);

	if (outcome == REVIEW_ALLOWED) {
		greeted_put(greeted, pipe, &arrival->hello,
			now_us + ADMISSION_US);
	}
	if (outcome == REVIEW_ALLOWED || is_extended) {
		welcome(arrival->request);
	} else {
		refuse(arrival->request, why);
	}
	free(arrival);
}

void admission_greet(struct admission *admission, struct mq_request *request,
	const struct hello *hello)
{
	struct arrival *arrival;

	if (admission->review == NULL) {
		greeted_put(admission->greeted, mq_request_pipe(request), hello,
			UINT64_MAX);
		welcome(request);
		return;
	}
	arrival = xcalloc(1, sizeof(*arrival));
	arrival->admission = admission;
	arrival->request = request;
	arrival->hello = *hello;
	arrival->hello.token = NULL;
	review_ask(admission->review,
		&(struct review_question){
			.right = hello->role == HELLO_AGENT ? REVIEW_REPORT
							    : REVIEW_SNAPSHOT,
			.token = hello->token,
			.subject = hello->node,
			.done = on_reviewed,
			.owner = arrival,
		});
}

static const struct hello *find(const struct admission *admission,
	const struct mq_request *request, enum hello_role role)
{
	const struct hello *hello = greeted_find(admission->greeted,
		mq_request_pipe(request), clock_monotonic_us());

	return hello != NULL && hello->role == role ? hello : NULL;
}

const struct hello *admission_sender(const struct admission *admission,
	const struct mq_request *request)
{
	return find(admission, request, HELLO_AGENT);
}

bool admission_may_ask(const struct admission *admission,
	const struct mq_request *request)
{
	return admission->review == NULL ||
		find(admission, request, HELLO_SCHEDULER) != NULL;
}

struct admission *admission_new(struct review *review)
{
	struct admission *admission = xcalloc(1, sizeof(*admission));

	admission->review = review;
	admission->greeted = greeted_new();
	return admission;
}

void admission_free(struct admission *admission)
{
	if (admission != NULL) {
		greeted_free(admission->greeted);
		free(admission);
	}
}
