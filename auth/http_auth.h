/* Authentication and authorization of HTTP requests: a request is served only
 * if the account of its bearer token is allowed to get its path, or with the
 * method POST to post to it, or with DELETE to delete it. A path below /apis/
 * needs the right for the path without /apis, because every user may get /apis/
 * of kube-apiserver. Otherwise the status is 401 without a valid token, 403 if
 * the account is not allowed, and 503 while the API server cannot be asked.
 * Probes and the files of a page need no token. A served request counts for its
 * account's peer (account_peer(), httpd_set_user()). */
#pragma once

#include "auth/access_review.h"
#include "lib/http/httpd_routes.h"

struct http_auth {
	struct access_review *review; /* NULL: every request is served */
	struct httpd_routes routes;
};

/* An httpd_serve; owner is the struct http_auth. */
void http_auth_serve(void *owner, struct httpd_request *request);
