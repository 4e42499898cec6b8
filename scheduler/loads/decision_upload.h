/* Uploads decision records to every aggregator, which stores them.
 *
 * Best effort and bounded: records are kept until every aggregator has stored
 * them; above the limits the oldest are dropped. Never blocks a decision. */
#pragma once

#include "lib/error.h"
#include "proto/decision.h"

#include <stddef.h>
#include <uv.h>

enum {
	DECISION_UPLOAD_MAX = 4096, /* records */
	DECISION_UPLOAD_BYTES_MAX = 8 << 20,
};

struct aggregators_options;
struct decision_upload;

/* Uses urls and credentials. Errors as aggregator_client_new(). */
must_check int decision_upload_new(struct decision_upload **out,
	uv_loop_t *loop, const struct aggregators_options *options,
	struct error *err);

/* Queues a copy for every aggregator. */
void decision_upload_add(struct decision_upload *upload,
	const struct decision_record *record);

/* Returns the number of records that some aggregator has not stored. */
size_t decision_upload_pending(const struct decision_upload *upload);

void decision_upload_close(struct decision_upload *upload); /* NULL is fine */
