/* The body of a remote write request: reports as the series of
 * series/metric_names.h, packed and compressed. Pure.
 *
 * A report has the totals of a node and its VMs, and a few figures. The rates
 * in /metrics need more than one report; an engine computes them from the
 * totals (docs/operations.md). Labels are those of /metrics and the operator's;
 * samples have the times of the reports. */
#pragma once

#include "aggregator/store/outbox.h"
#include "proto/remote_write.h"

enum {
	REQUEST_REPORTS_MAX = 1000, /* in one request */
	/* A request ends with the report that reaches this number of samples:
	 * 16 nodes with 30 VMs each, or 200 without. */
	REQUEST_SAMPLES_WANTED = 10000,
	REQUEST_EXTRA_MAX = 16, /* labels of the operator */
};

struct request_labels {
	struct remote_label labels[REQUEST_EXTRA_MAX];
	size_t count;
};

struct request_body;

/* extra outlives it: labels of all series that have no label of that name
 * themselves. Never NULL. */
struct request_body *request_body_new(const struct request_labels *extra);
void request_body_free(struct request_body *body); /* NULL is fine */

/* Takes the report and leaves an empty one. False: the body is full. */
bool request_body_add(struct request_body *body, const char *node,
	uint64_t sample_ms, struct report *report);

/* Packs all added reports; once. names NULL: VMs have no names. */
void request_body_pack(struct request_body *body,
	const struct store_names *names);

/* The packed body, borrowed. len 0: it has no sample, or is too large. */
const char *request_body_bytes(const struct request_body *body, size_t *len);
size_t request_body_samples(const struct request_body *body);

/* Reports that were not packed, because a later one of the node has the same
 * millisecond. */
size_t request_body_same_time(const struct request_body *body);
