/* The HTTP interface: /v1/nodes, /v1/nodes/NAME, /v1/nodes/NAME/history,
 * /v1/decisions. */
#pragma once

#include "aggregator/live.h"
#include "aggregator/store.h"
#include "lib/httpd.h"

struct api {
	const struct live *live;
	struct store *store;
};

/* An http_serve; owner is the struct api. */
void api_serve(void *owner, struct http_request *request);
