/* Authentication and authorization of HTTP requests: a request is served only
 * if the account of its bearer token is allowed to get its path, or with the
 * method DELETE to delete it. Otherwise the status is 401 without a valid
 * token, 403 if the account is not allowed, and 503 while the API server cannot
 * be asked. A served request counts for its account (httpd_set_user()). */
#pragma once

#include "aggregator/auth/access_review.h"
#include "lib/httpd.h"

struct http_auth {
	struct access_review *review; /* NULL: every request is served */
	httpd_serve serve;	      /* serves allowed requests */
	void *owner;		      /* of serve */
};

/* An httpd_serve; owner is the struct http_auth. */
void http_auth_serve(void *owner, struct httpd_request *request);
