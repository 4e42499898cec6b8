/* Answers history queries: parameters, the store's rows, the body. */
#pragma once

#include "aggregator/http/api.h"

/* Below a node: its past. */
void api_serve_node_history(struct api *api, const struct live_node *node,
	struct http_request *request);

/* Below a VM: its past, in whatever pods it ran. 404 if neither the store nor
 * is_running knows it. */
void api_serve_vm_history(struct api *api, const struct api_vm *vm,
	struct http_request *request);
