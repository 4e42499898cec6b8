/* Carries out a plan that empties a node: wave by wave, with a new plan after
 * each. A VM whose migration failed twice is left where it is. */
#pragma once

#include "lib/error.h"

struct api_client;
struct json_value;

/* *plan is the first plan, and later the last one; the caller frees it.
 * -EINTR and others: as migrations_run() and api_client_post(). */
must_check int evacuation_run(struct json_value **plan,
	struct api_client *client, const char *node, unsigned parallel,
	struct error *err);
