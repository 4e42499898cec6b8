#include "agent/ring.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/memory.h"

struct slot {
	uint8_t *bytes; /* owned; NULL: free */
	size_t len;
	uint32_t stored;      /* a bit per consumer */
	uint32_t received;    /* a bit per consumer */
	uint64_t received_us; /* the last time by any consumer */
	bool is_counted;      /* as dropped */
};

struct consumer {
	uint64_t retry_at_us; /* received reports are sent again from then on */
	uint64_t retry_wait_us;
	bool is_flushing; /* retries do not wait */
	/* The last answered batch had unsent reports, and they have not run out
	 * since. */
	bool unsent_was_last;
};

struct ring {
	struct slot *slots; /* seq is at seq % capacity */
	size_t capacity;
	size_t bytes_max;
	size_t count, bytes;
	uint64_t oldest, next; /* every held seq is in [oldest, next) */
	uint64_t dropped;
	struct consumer consumers[RING_CONSUMERS_MAX];
	size_t consumer_count;
	ring_overflow overflow; /* or NULL */
	void *overflow_owner;
};

struct ring *ring_new(size_t reports, size_t bytes, size_t consumers)
{
	struct ring *ring = xcalloc(1, sizeof(*ring));

	assert(reports > 0 && consumers > 0 && consumers <= RING_CONSUMERS_MAX);
	ring->slots = xcalloc(reports, sizeof(ring->slots[0]));
	ring->capacity = reports;
	ring->bytes_max = bytes;
	ring->oldest = 1;
	ring->next = 1;
	ring->consumer_count = consumers;
	for (size_t i = 0; i < consumers; i++) {
		ring->consumers[i].retry_wait_us = RING_RETRY_MIN_US;
	}
	return ring;
}

void ring_free(struct ring *ring)
{
	if (ring == NULL) {
		return;
	}
	for (size_t i = 0; i < ring->capacity; i++) {
		free(ring->slots[i].bytes);
	}
	free(ring->slots);
	free(ring);
}

static struct slot *slot_at(const struct ring *ring, uint64_t seq)
{
	return &ring->slots[seq % ring->capacity];
}

/* NULL: the report is not in the ring. */
static struct slot *find(const struct ring *ring, uint64_t seq)
{
	struct slot *slot = slot_at(ring, seq);

	return seq >= ring->oldest && seq < ring->next && slot->bytes != NULL
		? slot
		: NULL;
}

static void release(struct ring *ring, struct slot *slot)
{
	ring->count--;
	ring->bytes -= slot->len;
	free(slot->bytes);
	*slot = (struct slot){ 0 };
}

static void skip_freed(struct ring *ring)
{
	while (ring->oldest < ring->next &&
		slot_at(ring, ring->oldest)->bytes == NULL) {
		ring->oldest++;
	}
}

static uint32_t bit_of(size_t consumer)
{
	return UINT32_C(1) << consumer;
}

static void drop_oldest(struct ring *ring)
{
	struct slot *slot = slot_at(ring, ring->oldest);
	uint32_t all = bit_of(ring->consumer_count) - 1;
	bool is_kept = ring->overflow != NULL &&
		ring->overflow(ring->overflow_owner, ring->oldest,
			all & ~slot->stored);

	ring->dropped += !is_kept && !slot->is_counted;
	release(ring, slot);
	skip_freed(ring);
}

uint64_t ring_next_seq(const struct ring *ring)
{
	return ring->next;
}

static bool is_unsent(const struct slot *slot, uint32_t bit)
{
	return slot->bytes != NULL &&
		((slot->stored | slot->received) & bit) == 0;
}

static bool is_unstored(const struct slot *slot, uint32_t bit)
{
	return slot->bytes != NULL && (slot->stored & bit) == 0;
}

static bool is_received(const struct slot *slot, uint32_t bit)
{
	return (slot->received & bit) != 0;
}

static bool is_retry(const struct slot *slot, uint32_t bit)
{
	return is_unstored(slot, bit) && is_received(slot, bit);
}

typedef bool (*slot_test)(const struct slot *slot, uint32_t bit);

/* The newest report for which test holds and that was not received after
 * until_us; 0: none. */
static uint64_t find_newest(const struct ring *ring, size_t consumer,
	slot_test test, uint64_t until_us)
{
	for (uint64_t seq = ring->next; seq > ring->oldest; seq--) {
		const struct slot *slot = slot_at(ring, seq - 1);

		if (slot->received_us <= until_us &&
			test(slot, bit_of(consumer))) {
			return seq - 1;
		}
	}
	return 0;
}

static bool has_any(const struct ring *ring, size_t consumer, slot_test test)
{
	return find_newest(ring, consumer, test, UINT64_MAX) != 0;
}

void ring_add(struct ring *ring, const uint8_t *bytes, size_t len)
{
	struct slot *slot = slot_at(ring, ring->next);

	assert(len > 0);
	while (ring->count > 0 &&
		(ring->next - ring->oldest >= ring->capacity ||
			ring->bytes + len > ring->bytes_max)) {
		drop_oldest(ring);
	}
	for (size_t i = 0; i < ring->consumer_count; i++) {
		struct consumer *c = &ring->consumers[i];

		c->unsent_was_last =
			c->unsent_was_last && ring_has_unsent(ring, i);
	}
	*slot = (struct slot){ .bytes = xmemdup(bytes, len), .len = len };
	ring->count++;
	ring->bytes += len;
	ring->next++;
}

void ring_skip(struct ring *ring)
{
	while (ring->next - ring->oldest >= ring->capacity) {
		drop_oldest(ring);
	}
	ring->next++;
	ring->dropped++;
	skip_freed(ring);
}

/* A batch has either unsent reports or reports to retry. A batch of both would
 * be acknowledged with the commit of the unsent ones, which is always late on a
 * slow disk. */
struct choice {
	slot_test is_due;
	uint64_t until_us; /* only reports that were received until then */
	uint64_t newest;   /* that is due; 0: none */
};

/* Unsent reports go first, but not always: if replies take longer than an
 * interval, there is always an unsent report. */
static struct choice choose(const struct ring *ring, size_t consumer,
	uint64_t now_us)
{
	const struct consumer *c = &ring->consumers[consumer];
	struct choice unsent = { is_unsent, UINT64_MAX, 0 };
	struct choice retry = { is_retry, UINT64_MAX, 0 };

	if (!c->is_flushing) {
		retry.until_us = now_us - RING_SETTLE_US;
	}
	if (c->is_flushing ||
		(now_us >= c->retry_at_us && now_us >= RING_SETTLE_US)) {
		retry.newest =
			find_newest(ring, consumer, is_retry, retry.until_us);
	}
	unsent.newest = find_newest(ring, consumer, is_unsent, UINT64_MAX);
	return unsent.newest == 0 || (c->unsent_was_last && retry.newest != 0)
		? retry
		: unsent;
}

static void put(struct ring_batch *out, const struct slot *slot, uint64_t seq)
{
	out->seqs[out->count] = seq;
	out->reports[out->count] = (struct packed_report){
		.bytes = slot->bytes,
		.len = slot->len,
	};
	out->count++;
}

void ring_pick(struct ring_batch *out, const struct ring *ring, size_t consumer,
	size_t max_bytes, uint64_t now_us)
{
	struct choice choice = choose(ring, consumer, now_us);
	size_t bytes;

	out->count = 0;
	if (choice.newest == 0) {
		return;
	}
	bytes = wire_batched_size(slot_at(ring, choice.newest)->len);
	for (uint64_t seq = ring->oldest; seq < choice.newest; seq++) {
		const struct slot *slot = slot_at(ring, seq);

		if (slot->received_us > choice.until_us ||
			!choice.is_due(slot, bit_of(consumer))) {
			continue;
		}
		bytes += wire_batched_size(slot->len);
		if (bytes > max_bytes || out->count == WIRE_REPORTS_MAX - 1) {
			break;
		}
		put(out, slot, seq);
	}
	put(out, slot_at(ring, choice.newest), choice.newest);
}

void ring_pick_same(struct ring_batch *out, const struct ring *ring,
	size_t consumer)
{
	size_t count = out->count;

	out->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct slot *slot = find(ring, out->seqs[i]);

		if (slot != NULL && is_unstored(slot, bit_of(consumer))) {
			put(out, slot, out->seqs[i]);
		}
	}
}

static void settle(struct ring *ring, struct slot *slot, size_t consumer)
{
	uint32_t all = bit_of(ring->consumer_count) - 1;

	slot->stored |= bit_of(consumer);
	if (slot->stored == all) {
		release(ring, slot);
	}
}

void ring_stored(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count)
{
	struct consumer *c = &ring->consumers[consumer];

	c->unsent_was_last = false;
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find(ring, seqs[i]);

		if (slot != NULL) {
			c->unsent_was_last |= is_unsent(slot, bit_of(consumer));
			settle(ring, slot, consumer);
		}
	}
	skip_freed(ring);
	/* The consumer can store again: send the backlog at once. */
	c->retry_at_us = 0;
	c->retry_wait_us = RING_RETRY_MIN_US;
}

/* The wait doubles only after a retry: a batch of unsent reports does not show
 * whether the backlog would be stored. */
void ring_received(struct ring *ring, size_t consumer,
	const struct ring_batch *batch, uint64_t now_us)
{
	struct consumer *c = &ring->consumers[consumer];
	bool is_first = !has_any(ring, consumer, is_received);
	bool was_retry = false;

	for (size_t i = 0; i < batch->count; i++) {
		struct slot *slot = find(ring, batch->seqs[i]);

		if (slot != NULL) {
			was_retry |= !is_unsent(slot, bit_of(consumer));
			slot->received |= bit_of(consumer);
			slot->received_us = now_us;
		}
	}
	c->unsent_was_last = !was_retry;
	if (was_retry) {
		c->retry_wait_us = c->retry_wait_us * 2 > RING_RETRY_MAX_US
			? RING_RETRY_MAX_US
			: c->retry_wait_us * 2;
	}
	if (was_retry || is_first) {
		c->retry_at_us = now_us + c->retry_wait_us;
	}
}

void ring_drop(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find(ring, seqs[i]);

		if (slot != NULL) {
			ring->dropped += !slot->is_counted;
			slot->is_counted = true;
			settle(ring, slot, consumer);
		}
	}
	skip_freed(ring);
}

void ring_set_overflow(struct ring *ring, ring_overflow overflow, void *owner)
{
	ring->overflow = overflow;
	ring->overflow_owner = owner;
}

uint64_t ring_oldest_seq(const struct ring *ring)
{
	return ring->oldest;
}

bool ring_get(const struct ring *ring, uint64_t seq, struct packed_report *out)
{
	const struct slot *slot = find(ring, seq);

	if (slot == NULL) {
		return false;
	}
	*out = (struct packed_report){ .bytes = slot->bytes, .len = slot->len };
	return true;
}

bool ring_has_unsent(const struct ring *ring, size_t consumer)
{
	return has_any(ring, consumer, is_unsent);
}

bool ring_flush(struct ring *ring, size_t consumer)
{
	ring->consumers[consumer].is_flushing = true;
	return has_any(ring, consumer, is_unstored);
}

uint64_t ring_dropped(const struct ring *ring)
{
	return ring->dropped;
}

size_t ring_count(const struct ring *ring)
{
	return ring->count;
}
