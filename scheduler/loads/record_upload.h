/* Uploads records of one kind to every aggregator, which stores them:
 * decisions, or moves.
 *
 * Best effort and bounded: records are kept until every aggregator has stored
 * them; above the limits the oldest are dropped. An aggregator does not get a
 * record again that it refused. Never blocks.
 *
 * A request wakes several threads of the scheduler, and costs the aggregator a
 * commit. Records of a kind that can be lost therefore wait for others. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/decision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
	RECORD_UPLOAD_MAX = 4096, /* records */
	RECORD_UPLOAD_BYTES_MAX = 8 << 20,
	RECORD_UPLOAD_REQUEST_MAX = 512 << 10,
	RECORD_UPLOAD_BATCH_MAX = 64, /* records */
};

struct aggregators_options;
struct record_upload;

struct record_kind {
	size_t batch_max;    /* at most RECORD_UPLOAD_BATCH_MAX */
	uint64_t gather_ms;  /* how long a record waits for others; 0: not */
	const char *failure; /* the log message of every failure */
	const char *dropped; /* the log message for dropped records */
	/* Appends a request that holds the records. */
	void (*pack)(struct buffer *out, const struct packed_record *records,
		size_t count);
};

/* Uses urls and credentials. The strings of kind outlive the upload. Errors as
 * aggregator_client_new(). */
must_check int record_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options,
	const struct record_kind *kind, struct error *err);

/* False: there is no aggregator. */
bool record_upload_is_needed(const struct record_upload *upload);

/* An empty buffer for one packed record. */
struct buffer record_upload_buffer(void);

/* Queues the record for every aggregator, which gets it with those that follow
 * within kind.gather_ms. Takes the buffer. */
void record_upload_add(struct record_upload *upload, struct buffer packed);

/* Sends what is queued without waiting for more: the program ends soon. */
void record_upload_send(struct record_upload *upload);

/* Returns the number of records that some aggregator has not stored. */
size_t record_upload_pending(const struct record_upload *upload);

void record_upload_close(struct record_upload *upload); /* NULL is fine */
