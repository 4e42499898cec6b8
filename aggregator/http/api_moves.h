/* GET /v1/moves: moves of running VMs, newest first. */
#pragma once

#include "aggregator/http/context.h"

/* Answers now or after a query of the store. */
void api_moves_serve(void *owner, struct httpd_request *request);
