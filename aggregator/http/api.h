/* The HTTP interface: the routes of docs/http.md. */
#pragma once

#include "aggregator/http/context.h"
#include "lib/http/httpd_routes.h"

/* Borrows api. */
struct httpd_routes api_routes(struct api *api);
