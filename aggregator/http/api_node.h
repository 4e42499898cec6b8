/* DELETE /v1/nodes/NAME: removes a node from the live nodes. */
#pragma once

#include "aggregator/http/context.h"

/* The path begins with /v1/nodes/. 405 for what is below a node, 403 without
 * authentication, 409 while the node is fresh, 404 if it is not among the live
 * nodes. */
void api_node_delete(void *owner, struct httpd_request *request);
