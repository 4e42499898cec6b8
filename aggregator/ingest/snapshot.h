/* Answers to SnapshotRequest: the nodes that changed since the client's
 * revision, oldest change first, as many as fit into one message. The answer's
 * revision is the highest in it; a client that is far behind asks again. Each
 * request waits until there is something newer, see ingest/long_poll.h. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/buffer.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"

#include <uv.h>

/* Far below MQ_RECV_MAX. A node with REPORT_VMS_MAX VMs of the longest names
 * takes less than this, see wire_node_load_bytes(). */
enum { SNAPSHOT_BYTES_MAX = 2 << 20 };

/* Appends the reply to out, at most SNAPSHOT_BYTES_MAX bytes. */
void snapshot_write(struct buffer *out, const struct live *live,
	const struct snapshot_request *request, uint64_t now_us);

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
