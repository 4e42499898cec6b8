/* GET /v1/decisions: what schedulers decided, newest first. */
#pragma once

#include "aggregator/store/store.h"
#include "lib/httpd.h"

/* Answers now or when the store has read; store outlives the request. */
void api_serve_decisions(struct store *store, struct http_request *request);
