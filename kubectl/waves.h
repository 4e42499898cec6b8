/* Carries out a plan that empties a node: wave by wave, with a new plan after
 * each. A VM whose migration failed twice is left where it is. */
#pragma once

#include "lib/error.h"

struct cluster;
struct json_value;

/* *plan is the first plan, and later the last one; the caller frees it.
 * -EINTR and others: as flights_run() and cluster_post(). */
must_check int waves_run(struct json_value **plan, struct cluster *cluster,
	const char *node, unsigned parallel, struct error *err);
