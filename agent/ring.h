/* Reports that wait until every aggregator has stored them.
 *
 * A bounded ring of packed reports with a mark per report and aggregator
 * (called a consumer here). Each consumer gets the newest report first and its
 * backlog, oldest first, behind it. A report is freed when all consumers stored
 * it; when the ring is full the oldest is dropped and counted. Pure: time is an
 * argument. */
#pragma once

#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RING_CONSUMERS_MAX = 16,
	/* What a batch holds at most, far below MQ_SEND_MAX. A single report
	 * that is larger goes alone. */
	RING_BATCH_BYTES = 256 << 10,
};

/* Reports that a consumer has but did not store are offered again after a
 * wait, which doubles up to the maximum while nothing is stored. */
#define RING_RETRY_MIN_US UINT64_C(2000000)
#define RING_RETRY_MAX_US UINT64_C(60000000)

struct ring;

/* A report that was received is not offered again sooner: the commit it waits
 * for may be under way. */
#define RING_SETTLE_US UINT64_C(2000000)

/* One batch: ascending by seq, the newest report last. */
struct ring_batch {
	size_t count;
	uint64_t seqs[WIRE_REPORTS_MAX];
	/* Borrowed until the next ring_add(), ring_stored() or ring_forget(). */
	struct packed_report reports[WIRE_REPORTS_MAX];
};

/* A ring of at most `reports` reports and `bytes` bytes for that many
 * consumers (1 to RING_CONSUMERS_MAX). Never NULL. */
struct ring *ring_new(size_t reports, size_t bytes, size_t consumers);
void ring_free(struct ring *ring); /* NULL is fine */

/* The number the next report must carry: 1, 2, 3... */
uint64_t ring_next_seq(const struct ring *ring);

/* Takes a copy of the next report, and drops the oldest ones where it does not
 * fit. */
void ring_add(struct ring *ring, const uint8_t *bytes, size_t len);

/* Skips a number: the next report could not be packed. Counts as dropped. */
void ring_skip(struct ring *ring);

/* Chooses what to send to a consumer now; count 0: nothing. While there are
 * reports the consumer was never given, the newest of them is in, then the
 * oldest as far as RING_BATCH_BYTES and WIRE_REPORTS_MAX allow; else, in the
 * same way, of those it has but did not store. These are in turn with news that
 * never end. Changes nothing. */
void ring_pick(struct ring_batch *out, const struct ring *ring, size_t consumer,
	uint64_t now_us);

/* The same for the numbers that are in *out already: those which are still
 * here, so that one batch can be offered again unchanged. */
void ring_pick_again(struct ring_batch *out, const struct ring *ring,
	size_t consumer);

/* The consumer stored these: they need not be sent to it again. Numbers that
 * are not here (dropped meanwhile) are skipped, here and below. */
void ring_stored(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count);

/* The consumer has these, but not on disk: they will be offered again. */
void ring_received(struct ring *ring, size_t consumer,
	const struct ring_batch *batch, uint64_t now_us);

/* The consumer will not take these: as stored, but counted as dropped. */
void ring_forget(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count);

/* Who keeps what the ring has to drop: seq, which some consumers have not
 * stored (a bit for each). True: it is kept elsewhere, and not lost. */
typedef bool (*ring_keep)(void *owner, uint64_t seq, uint32_t lacking);
void ring_set_keeper(struct ring *ring, ring_keep keep, void *owner);

/* The first number that is held; ring_next_seq() if none is. */
uint64_t ring_oldest_seq(const struct ring *ring);

/* The packed report of that number; false if it is not held. */
bool ring_get(const struct ring *ring, uint64_t seq, struct packed_report *out);

/* From here on what the consumer received and did not store is offered again
 * without waiting. False: it stored all there is. */
bool ring_hurry(struct ring *ring, size_t consumer);

/* Reports the consumer was never given. */
bool ring_has_news(const struct ring *ring, size_t consumer);

/* Reports that were lost, to one consumer at least: pushed out before everyone
 * stored them (though an answer may have been on its way), or forgotten. */
uint64_t ring_dropped(const struct ring *ring);

/* Reports and bytes that are held. */
size_t ring_count(const struct ring *ring);
size_t ring_bytes(const struct ring *ring);
