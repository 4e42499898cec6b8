/* Stands before an HTTP interface: a request gets there only if its bearer
 * token's account may get that path. 401 without a good token, 403 if it may
 * not, 503 while the API server cannot be asked. */
#pragma once

#include "aggregator/auth/access_review.h"
#include "lib/httpd.h"

struct guard {
	struct review *review; /* NULL: every request is let through */
	http_serve serve;      /* what it guards */
	void *owner;	       /* of serve */
};

/* An http_serve; owner is the struct guard. */
void guard_serve(void *owner, struct http_request *request);
