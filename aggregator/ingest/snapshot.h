/* Answers to SnapshotRequest: the nodes that changed since the client's
 * revision, oldest change first, as many as fit into one message. The answer's
 * revision is the highest in it; a client that is far behind asks again. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/buffer.h"
#include "proto/wire.h"

/* Far below MQ_RECV_MAX. A node with REPORT_VMS_MAX VMs of the longest names
 * takes less than this, see wire_node_load_bytes(). */
enum { SNAPSHOT_BYTES_MAX = 2 << 20 };

/* Appends the reply to out, at most SNAPSHOT_BYTES_MAX bytes. */
void snapshot_write(struct buffer *out, const struct live *live,
	const struct snapshot_request *request, uint64_t now_us);
