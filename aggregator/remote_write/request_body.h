/* Reports as one request of remote write: series of metric_names.h, packed and
 * compressed. Pure.
 *
 * A report says all of a node's and its VMs' totals and a few figures; the
 * rates that /metrics has beside them need more than one report, and an engine
 * makes them of the totals (docs/operations.md). Labels are those of /metrics,
 * and what the operator added; samples have the reports' times. */
#pragma once

#include "aggregator/store/outbox.h"
#include "proto/remote_write.h"

enum {
	REMOTE_REPORTS_MAX = 1000, /* in one request */
	/* A request has this many samples and up to one report's more:
	 * 16 nodes with 30 VMs each, or 200 without. */
	REMOTE_SAMPLES_WANTED = 10000,
	REMOTE_EXTRA_MAX = 16, /* labels of the operator's */
};

struct remote_extra {
	struct remote_label labels[REMOTE_EXTRA_MAX];
	size_t count;
};

struct remote_body;

/* extra outlives it: labels of all series, but where a series has a label of
 * that name itself. Never NULL. */
struct remote_body *remote_body_new(const struct remote_extra *extra);
void remote_body_free(struct remote_body *body); /* NULL is fine */

/* The report becomes the body's, which leaves an empty one behind. False: no
 * more should be added. */
bool remote_body_add(struct remote_body *body, const char *node,
	uint64_t sample_ms, struct report *report);

/* Makes the request of all that was added; once. names NULL: nobody says whose
 * a pod is. */
void remote_body_pack(struct remote_body *body,
	const struct store_names *names);

/* What was made; borrowed. len 0: there is not one sample, or more than a
 * request can hold. */
const char *remote_body_bytes(const struct remote_body *body, size_t *len);
size_t remote_body_samples(const struct remote_body *body);
