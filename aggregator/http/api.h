/* The HTTP interface: the routes of docs/http.md. */
#pragma once

#include "aggregator/http/context.h"

/* An httpd_serve; owner is the struct api. */
void api_serve(void *owner, struct httpd_request *request);
