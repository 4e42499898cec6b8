/* Answers requests for objects, once they are allowed. */
#pragma once

#include "aggregator/apiserver/rest_path.h"
#include "aggregator/http/context.h"
#include "lib/http/httpd_routes.h"

struct load_wait;
struct object_labels;

/* The sources of the answers; all outlive the requests. */
struct api_sources {
	struct api *api; /* without store and live figures until it is open */
	const struct object_labels *nodes, *pods;
	const struct httpd_listener *listener; /* this API's own; or NULL */
	struct load_wait *waits;	       /* of the listeners together */
	bool is_open;			       /* the database */
};

/* 0, or the HTTP status of an error in err: the request can be refused before
 * anybody is asked whether it is allowed. */
must_check int api_objects_check(const struct httpd_request *request,
	struct error *err);

/* As httpd_take_place(), for a request that may wait for a change or for a
 * scheduler, or does not. */
bool api_objects_take_place(const struct rest_path *path,
	struct httpd_request *request);

void api_objects_serve(const struct api_sources *sources,
	const struct rest_path *path, struct httpd_request *request);

/* The objects on another listener, whose clients come without kube-apiserver:
 * that listener decides who may read. Objects alone: no questions, and no
 * documents that describe the API. sources outlive the listener, and are
 * open. */
struct httpd_routes api_objects_routes(struct api_sources *sources);
