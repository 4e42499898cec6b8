/* Answers history queries: parameters, the store's rows, the body. */
#pragma once

#include "aggregator/api.h"

/* Below a node: its past. */
void api_serve_node_history(const struct api *api, const struct live_node *node,
	struct http_request *request);
