#include "aggregator/auth/http_auth.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A request whose token is being reviewed. */
struct visit {
	const struct guard *guard;
	struct http_request *request;
};

/* What follows "Bearer "; NULL: no token is shown. */
static const char *bearer_token(const struct http_request *request)
{
	static const char scheme[] = "Bearer ";
	const char *value = http_header(request, "Authorization");

	if (value == NULL ||
		strncasecmp(value, scheme, sizeof(scheme) - 1) != 0) {
		return NULL;
	}
	value += sizeof(scheme) - 1;
	return value + strspn(value, " ");
}

static int status_of(enum review_outcome outcome)
{
	switch (outcome) {
	case REVIEW_NO_TOKEN:
	case REVIEW_BAD_TOKEN:
		return 401;
	case REVIEW_UNREACHABLE:
		return 503;
	default:
		return 403;
	}
}

static void on_reviewed(void *owner, enum review_outcome outcome,
	const struct error *why)
{
	struct visit *visit = owner;

	if (outcome == REVIEW_ALLOWED) {
		visit->guard->serve(visit->guard->owner, visit->request);
	} else {
		http_reply_error(visit->request, status_of(outcome), "%s",
			why->text);
	}
	free(visit);
}

void guard_serve(void *owner, struct http_request *request)
{
	const struct guard *guard = owner;
	struct visit *visit;

	if (guard->review == NULL) {
		guard->serve(guard->owner, request);
		return;
	}
	visit = xcalloc(1, sizeof(*visit));
	visit->guard = guard;
	visit->request = request;
	review_ask(guard->review,
		&(struct review_question){
			.right = REVIEW_HTTP,
			.token = bearer_token(request),
			.subject = http_path(request),
			.done = on_reviewed,
			.owner = visit,
		});
}
