/* GET /v1/nodes/NAME/history and /v1/vms/NAMESPACE/NAME/history. */
#pragma once

#include "aggregator/http/context.h"

/* The history of the node of that name, or of a VM over all its pods; the other
 * one is NULL. 404 if it has no stored history, and the node is not live or the
 * VM not running. */
void api_history_serve(struct api *api, const char *node,
	const struct api_vm *vm, struct httpd_request *request);
