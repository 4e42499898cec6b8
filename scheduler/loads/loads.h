/* Live load from the aggregators: one long poll to each.
 *
 * If an aggregator is unreachable, the client logs that at most every 10 s, and
 * the load of its nodes ages. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct aggregators_options;
struct loads;

/* Uses urls, credentials and on_node. Errors as aggregator_client_new(). */
must_check int loads_new(struct loads **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* True if every aggregator has sent a snapshot, or there is none. */
bool loads_complete(const struct loads *loads);

/* Returns the number of connected aggregators; *total: of all. */
size_t loads_connected(const struct loads *loads, size_t *total);

void loads_close(struct loads *loads); /* NULL is fine */
