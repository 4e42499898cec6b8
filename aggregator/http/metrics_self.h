/* The aggregator's own series of /metrics: what it receives, stores, serves and
 * sends. */
#pragma once

#include "aggregator/ingest/ingest.h"
#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/store/stats.h"
#include "lib/exposition.h"
#include "lib/histogram.h"

struct metrics_self {
	uint64_t started_us; /* as exposition_process() */
	struct ingest_counts counts;
	bool is_storing;
	struct store_stats store;
	size_t identities; /* VM pods with a known name */
	bool is_remote;	   /* --remote-write is set */
	struct remote_write_health remote;
	bool is_remote_read; /* --remote-read is set */
	struct remote_read_health remote_read;
	const struct node_owners *owners; /* or NULL; outlives the stream */
	struct exposition_certificate certificates[2];
	int64_t authority_expiry_s; /* of the clients; 0: none */
	struct exposition_responses responses[3];
};

void metrics_self_write(struct buffer *out, const struct metrics_self *self);
