/* GET /v1/nodes/NAME/history and /v1/vms/NAMESPACE/NAME/history. */
#pragma once

#include "aggregator/http/context.h"

/* The history of a node, or of a VM over all its pods; the other one is NULL.
 * 404 if the VM has no stored history and is not running. */
void api_history_serve(struct api *api, const struct live_node *node,
	const struct api_vm *vm, struct httpd_request *request);
