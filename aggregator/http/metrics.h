/* /metrics: the current state of this process in Prometheus' text format.
 *
 * The format requires one metric after the other, each over all nodes. The text
 * is written while the client reads it: a part of the text and the nodes'
 * figures at the start are in memory; raw totals are current when they are
 * written. A node that is not fresh has only its age, because a total that does
 * not change looks like an idle node. */
#pragma once

#include "aggregator/ingest/ingest.h"
#include "aggregator/live/live.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/store/left_out.h"
#include "lib/httpd.h"

struct metrics_self {
	uint64_t started_us; /* as exposition_process() */
	struct ingest_counts counts;
	bool is_storing;
	struct left_out left_out;
	size_t identities; /* VM pods with a known name */
	bool is_remote;	   /* --remote-write is set */
	struct remote_write_health remote;
	const struct node_owners *owners; /* or NULL; outlives the stream */
};

struct metrics_options {
	const struct live *live;	     /* both outlive the stream */
	const struct identities *identities; /* or NULL */
	size_t vms_max; /* VM pods with series; others are counted only */
	struct metrics_self self;
};

/* For httpd_reply_stream(), whose done() frees it. */
struct httpd_stream metrics_stream(const struct metrics_options *options);
