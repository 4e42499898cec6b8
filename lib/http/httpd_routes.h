/* The routes of an HTTP listener. One table dispatches its requests, answers /
 * with its paths as kube-apiserver does, {"paths":[...]}, and words the 404 and
 * the 405. HEAD is served as GET. A client that prefers HTML to JSON gets a
 * page at /, if there is one. */
#pragma once

#include "lib/http/httpd.h"

struct httpd_route {
	const char *path; /* with a slash at its end: all paths below */
	httpd_serve get, post, remove; /* NULL: 405; remove is for DELETE */
	/* How lists of paths name it; none: by its path. */
	const char *shown[2];
	bool is_hidden; /* no list names it */
	bool is_open;	/* needs no authentication */
};

struct httpd_routes {
	const struct httpd_route *routes;
	size_t count;
	void *owner;	  /* of the functions in routes, and of page */
	httpd_serve page; /* needs no authentication; NULL: no page */
	/* Routes of another owner on the same listener, without routes of its
	 * own; or NULL. Lists name them first. */
	const struct httpd_routes *mounted;
};

/* An httpd_serve; owner is the struct httpd_routes. */
void httpd_routes_serve(void *owner, struct httpd_request *request);

/* True: what serves the request needs no authentication. */
bool httpd_routes_is_open(const struct httpd_routes *routes,
	const struct httpd_request *request);
