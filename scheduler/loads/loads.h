/* Live load from the aggregators: one long poll each, merged by newest sample.
 *
 * Where there is a token, Hello comes first, and again whenever an aggregator
 * asks for it. An aggregator that cannot be reached is said so in the log at most every
 * 10 s; nodes then age by themselves. */
#pragma once

#include "lib/credentials.h"
#include "lib/error.h"
#include "lib/options.h"
#include "proto/load.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct loads;

/* sample_us: monotonic time here at which the node's newest sample was taken.
 * load is borrowed for the call. */
typedef void (*loads_node)(void *owner, const struct node_load *load,
	int64_t sample_us);

struct loads_options {
	const struct option_list *aggregators; /* their URLs */
	const struct dial_config *dial;	       /* both outlive the loads */
	loads_node on_node;
	void *owner; /* outlives the loads */
};

/* -EINVAL: one of the URLs is none, or a TLS file is no good; else what
 * reading the files said. */
must_check int loads_new(struct loads **out, uv_loop_t *loop,
	const struct loads_options *options, struct error *err);

/* Every aggregator has answered once, or there is none. */
bool loads_complete(const struct loads *loads);

/* How many of them are connected now, of how many. */
size_t loads_connected(const struct loads *loads, size_t *of);

void loads_close(struct loads *loads); /* NULL is fine */
