/* Answers to SnapshotRequest: the nodes that changed since, oldest change
 * first, as many as one message takes. The reply's revision is the highest that
 * is inside, so an asker that was far behind just asks again. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/buffer.h"
#include "proto/wire.h"

/* Far below MQ_RECV_MAX; the estimate behind it errs on the large side. */
enum { SNAPSHOT_BYTES_MAX = 2 << 20 };

/* Appends the reply to out. */
void snapshot_write(struct buffer *out, const struct live *live,
	const struct snapshot_request *asked, uint64_t now_us);
