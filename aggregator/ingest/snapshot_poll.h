/* Answers snapshot requests: each waits until there is something newer, see
 * ingest/long_poll.h. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"

#include <uv.h>

struct snapshot_poll;

/* live outlives it. Never NULL. */
struct snapshot_poll *snapshot_poll_new(uv_loop_t *loop,
	const struct live *live);
void snapshot_poll_free(struct snapshot_poll *poll); /* NULL is fine */

/* Answers the request now or later. peer is wire_auth_peer(). */
void snapshot_poll_ask(struct snapshot_poll *poll, struct mq_request *request,
	const struct snapshot_request *wanted, uint64_t peer);

/* Answers the requests that are due; after each change of the live table. */
void snapshot_poll_serve(struct snapshot_poll *poll);

uint64_t snapshot_poll_count(const struct snapshot_poll *poll); /* answers */
