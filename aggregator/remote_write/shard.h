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

void shard_init(struct shard *shard);

/* last_id: of the newest report in the queue, or 0. */
void shard_note_queue(struct shard *shard, uint64_t last_id);

bool shard_may_read(const struct shard *shard);

/* The reports up to last_id are sent or dropped. has_more: they filled a
 * request, so the next one is read at once. */
void shard_advance(struct shard *shard, uint64_t last_id, bool has_more);

/* A request with this many reports is refused: the next one has the first half
 * of them. After an accepted request the limit grows again. */
void shard_split(struct shard *shard, uint64_t count);
void shard_grow(struct shard *shard);

/* A request failed and is sent again; see retry_wait_ms(). */
void shard_wait(struct shard *shard, uint64_t now_us, uint64_t asked_ms,
	double random);
bool shard_is_retry_due(const struct shard *shard, uint64_t now_us);
