/* Reports in memory until every aggregator has stored them.
 *
 * A bounded ring of packed reports. Each report has a mark per aggregator,
 * which is called a consumer here. A consumer is sent the newest report and its
 * backlog, the oldest first. A report is freed when all consumers have stored
 * it. When the ring is full, the oldest report is dropped and counted. Pure:
 * time is an argument. */
#pragma once

#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RING_CONSUMERS_MAX = 16,
	/* The maximum of a batch, far below MQ_SEND_MAX. */
	RING_BATCH_BYTES = 256 << 10,
};

/* Reports that a consumer received but did not store are sent again after a
 * wait, which doubles up to the maximum while nothing is stored. */
#define RING_RETRY_MIN_US UINT64_C(2000000)
#define RING_RETRY_MAX_US UINT64_C(60000000)

/* A received report is sent again after this time at the earliest, because the
 * consumer may be about to store it. */
#define RING_SETTLE_US UINT64_C(2000000)

struct ring;

/* One batch: ascending by seq, the newest report last. */
struct ring_batch {
	size_t count;
	uint64_t seqs[WIRE_REPORTS_MAX];
	/* Borrowed until the next ring_add(), ring_stored() or ring_drop(). */
	struct packed_report reports[WIRE_REPORTS_MAX];
};

/* A ring of at most `reports` reports and `bytes` bytes for 1 to
 * RING_CONSUMERS_MAX consumers. Never NULL. */
struct ring *ring_new(size_t reports, size_t bytes, size_t consumers);
void ring_free(struct ring *ring); /* NULL is fine */

/* The number that the next report must have: 1, 2, 3... */
uint64_t ring_next_seq(const struct ring *ring);

/* Copies the next report into the ring. Drops the oldest reports if there is no
 * room. */
void ring_add(struct ring *ring, const uint8_t *bytes, size_t len);

/* Skips a number: the next report could not be packed. Counts as dropped. */
void ring_skip(struct ring *ring);

/* Chooses the reports to send to a consumer now; count 0: none. If there are
 * unsent reports, the batch is the newest of them and then the oldest, up to
 * max_bytes and WIRE_REPORTS_MAX; a single report may be larger. Otherwise the
 * same is done with the reports that the consumer received but did not store.
 * If unsent reports never run out, the two kinds alternate. Does not change the
 * ring. */
void ring_pick(struct ring_batch *out, const struct ring *ring, size_t consumer,
	size_t max_bytes, uint64_t now_us);

/* Picks the numbers in *out again, to repeat a batch unchanged. Omits reports
 * that are not in the ring any more or are stored. */
void ring_pick_same(struct ring_batch *out, const struct ring *ring,
	size_t consumer);

/* The consumer stored these reports. Numbers that are not in the ring are
 * ignored, here and below. */
void ring_stored(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count);

/* The consumer received these reports, but did not store them. */
void ring_received(struct ring *ring, size_t consumer,
	const struct ring_batch *batch, uint64_t now_us);

/* The consumer refuses these reports for good: like ring_stored(), but they
 * count as dropped. */
void ring_drop(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count);

/* Called with each report that the ring has to drop, and the consumers that
 * have not stored it (a bit each). True: the owner keeps the report, so that it
 * does not count as dropped. */
typedef bool (*ring_overflow)(void *owner, uint64_t seq, uint32_t pending);
void ring_set_overflow(struct ring *ring, ring_overflow overflow, void *owner);

/* The oldest number in the ring; ring_next_seq() if the ring is empty. */
uint64_t ring_oldest_seq(const struct ring *ring);

/* The packed report with that number. False: it is not in the ring. */
bool ring_get(const struct ring *ring, uint64_t seq, struct packed_report *out);

/* From now on, reports that the consumer received but did not store are sent
 * again without a wait. False: the consumer stored every report. */
bool ring_flush(struct ring *ring, size_t consumer);

/* True: there are reports that were never sent to the consumer. */
bool ring_has_unsent(const struct ring *ring, size_t consumer);

/* Reports that at least one consumer lost: dropped before all consumers stored
 * them (although an answer may have been on its way), or refused. */
uint64_t ring_dropped(const struct ring *ring);

size_t ring_count(const struct ring *ring); /* reports in the ring */
