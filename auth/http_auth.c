#include "auth/http_auth.h"

#include "auth/account.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* A request whose token is being reviewed. */
struct pending {
	struct http_auth *auth;
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
	scoped_free char *peer = NULL;

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		peer = account_peer(pending->user);
		httpd_set_user(pending->request, peer);
		httpd_routes_serve(&pending->auth->routes, pending->request);
	} else {
		httpd_reply_error(pending->request, status_of(outcome), "%s",
			why->text);
	}
	free(pending->user);
	free(pending);
}

static enum access_review_right right_of(const struct httpd_request *request)
{
	const char *method = httpd_method(request);

	if (strcmp(method, "POST") == 0) {
		return ACCESS_REVIEW_HTTP_POST;
	}
	return strcmp(method, "DELETE") == 0 ? ACCESS_REVIEW_HTTP_DELETE
					     : ACCESS_REVIEW_HTTP;
}

/* The ClusterRole system:discovery lets every user get /apis/ and all below, of
 * kube-apiserver. Here that is no right to objects. */
static const char *reviewed_path(const struct httpd_request *request)
{
	static const char prefix[] = "/apis";
	const char *path = httpd_path(request);
	size_t len = sizeof(prefix) - 1;

	return strncmp(path, prefix, len) == 0 && path[len] == '/' ? path + len
								   : path;
}

void http_auth_serve(void *owner, struct httpd_request *request)
{
	struct http_auth *auth = owner;
	struct pending *pending;

	if (auth->review == NULL ||
		httpd_routes_is_open(&auth->routes, request)) {
		httpd_routes_serve(&auth->routes, request);
		return;
	}
	pending = xcalloc(1, sizeof(*pending));
	pending->auth = auth;
	pending->request = request;
	access_review_start(auth->review,
		&(struct access_review_request){
			.right = right_of(request),
			.token = bearer_token(request),
			.subject = reviewed_path(request),
			.user = &pending->user,
			.done = on_reviewed,
			.owner = pending,
		});
}
