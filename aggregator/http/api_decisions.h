/* GET /v1/decisions: the decisions of schedulers, newest first. */
#pragma once

#include "aggregator/http/context.h"

/* Answers now or after a query of the store. */
void api_decisions_serve(void *owner, struct httpd_request *request);
