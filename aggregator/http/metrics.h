/* /metrics: everything this process knows now, in Prometheus' text format.
 *
 * Metric by metric over all nodes, as the format wants it, so it is written
 * while it is read: in memory are a part of the text and the nodes' figures of
 * one moment. Raw totals are those of the moment they are written. Nodes that
 * are not fresh have their age and nothing else: a total that stands still
 * looks like an idle node. */
#pragma once

#include "aggregator/live/live.h"
#include "aggregator/remote_write/remote_write.h"
#include "lib/httpd.h"

#include <stddef.h>
#include <stdint.h>

/* What the aggregator has done since it started. */
struct metrics_counts {
	uint64_t reports;	   /* taken, replays among them */
	uint64_t batches_stored;   /* acknowledged so */
	uint64_t batches_received; /* acknowledged as not stored yet */
	uint64_t refused;	   /* messages */
	uint64_t snapshots;	   /* given */
};

struct metrics_own {
	struct metrics_counts counts;
	bool is_storing;
	size_t identities; /* VM pods that are known by name */
	bool is_remote;	   /* there is remote write */
	struct remote_health remote;
};

struct metrics_options {
	const struct live *live;	     /* these two outlive the stream */
	const struct identities *identities; /* or NULL */
	size_t vms_max;	 /* VMs with series; the rest is counted only */
	size_t *running; /* counts the streams that are there */
	struct metrics_own own;
};

/* For http_reply_stream(), whose done() frees it. */
struct http_stream metrics_stream(const struct metrics_options *options);
