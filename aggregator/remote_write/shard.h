/* How far one shard of the queue (store/outbox.h) is, and what it does next.
 * Pure.
 *
 * A shard has one request at a time, so its reports, and with them each series,
 * stay in order. Shards do not wait for each other: each has its own retries,
 * and its own limit after a refusal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum shard_state {
	SHARD_IDLE,
	SHARD_READING,
	SHARD_SENDING,
	SHARD_WAITING, /* to send the same request again */
};

struct shard {
	enum shard_state state;
	bool is_due;	   /* there are reports to read now */
	uint64_t sent_id;  /* all reports up to it are sent or dropped */
	uint64_t limit;	   /* reports in the next request */
	unsigned failures; /* in a row */
	uint64_t retry_us; /* while it waits: of the next attempt */
	char why[320];	   /* of the last failure, "" after a success */
};

/* The outcome of a request. */
enum shard_verdict {
	SHARD_SENT,
	/* The request itself is valid: it is sent again. */
	SHARD_AGAIN,
	/* The engine refuses a report of the request: the request is split in
	 * half until it has one report, which is dropped. A report that is too
	 * old therefore costs no other report. */
	SHARD_REFUSED,
};

/* status 0: no response. These 4xx are no verdict on the reports: 401 and 403
 * (not allowed), 404 (no such endpoint), 408 (timeout), 429 (too early). */
enum shard_verdict shard_judge(int status);

void shard_init(struct shard *shard);

/* last_id: of the newest report in the queue, or 0. */
void shard_note_queue(struct shard *shard, uint64_t last_id);

bool shard_may_read(const struct shard *shard);

/* The reports up to last_id are sent or dropped. has_more: they filled a
 * request, so the next one is read at once. */
void shard_advance(struct shard *shard, uint64_t last_id, bool has_more);

/* A request with this many reports is refused: the next one has the first half
 * of them. After an accepted request the limit is twice as large, up to
 * REQUEST_REPORTS_MAX. */
void shard_split(struct shard *shard, uint64_t count);
void shard_grow(struct shard *shard);

/* A request failed and is sent again. asked_ms: the engine's Retry-After, or 0;
 * random: in [0, 1). */
void shard_wait(struct shard *shard, uint64_t now_us, uint64_t asked_ms,
	double random);
bool shard_is_retry_due(const struct shard *shard, uint64_t now_us);
