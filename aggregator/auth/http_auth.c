#include "aggregator/auth/http_auth.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A request whose token is being reviewed. */
struct pending {
	const struct http_auth *auth;
	struct httpd_request *request;
	char *user;
};

/* The text after "Bearer "; NULL: the request has no token. */
static const char *bearer_token(const struct httpd_request *request)
{
	static const char scheme[] = "Bearer ";
	const char *value = httpd_header(request, "Authorization");

	if (value == NULL ||
		strncasecmp(value, scheme, sizeof(scheme) - 1) != 0) {
		return NULL;
	}
	value += sizeof(scheme) - 1;
	return value + strspn(value, " ");
}

static int status_of(enum access_review_outcome outcome)
{
	switch (outcome) {
	case ACCESS_REVIEW_NO_TOKEN:
	case ACCESS_REVIEW_BAD_TOKEN:
		return 401;
	case ACCESS_REVIEW_UNREACHABLE:
		return 503;
	default:
		return 403;
	}
}

static void on_reviewed(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct pending *pending = owner;

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		httpd_set_user(pending->request, pending->user);
		pending->auth->serve(pending->auth->owner, pending->request);
	} else {
		httpd_reply_error(pending->request, status_of(outcome), "%s",
			why->text);
	}
	free(pending->user);
	free(pending);
}

void http_auth_serve(void *owner, struct httpd_request *request)
{
	const struct http_auth *auth = owner;
	struct pending *pending;

	if (auth->review == NULL) {
		auth->serve(auth->owner, request);
		return;
	}
	pending = xcalloc(1, sizeof(*pending));
	pending->auth = auth;
	pending->request = request;
	access_review_start(auth->review,
		&(struct access_review_request){
			.right = strcmp(httpd_method(request), "DELETE") == 0
				? ACCESS_REVIEW_HTTP_DELETE
				: ACCESS_REVIEW_HTTP,
			.token = bearer_token(request),
			.subject = httpd_path(request),
			.user = &pending->user,
			.done = on_reviewed,
			.owner = pending,
		});
}
