/* /metrics: the current state of this process in Prometheus' text format.
 *
 * The format requires one metric after the other, each over all nodes. The text
 * is written while the client reads it: a part of the text and the nodes'
 * figures at the start are in memory; raw totals are current when they are
 * written. A node that is not fresh has only its age and its certificate's
 * expiry, because a total that does not change looks like an idle node. */
#pragma once

#include "aggregator/http/metrics_self.h"
#include "aggregator/live/live.h"
#include "lib/http/httpd.h"

struct metrics_options {
	const struct live *live;	     /* both outlive the stream */
	const struct identities *identities; /* or NULL */
	size_t vms_max; /* VM pods with series; others are counted only */
	struct metrics_self self;
};

/* For httpd_reply_stream(), whose done() frees it. */
struct httpd_stream metrics_stream(const struct metrics_options *options);
