#include "agent/ring.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/memory.h"

struct slot {
	uint8_t *bytes; /* owned; NULL: free */
	size_t len;
	uint32_t stored;      /* a bit per consumer */
	uint32_t received;    /* the same, for reports it was given before */
	uint64_t received_us; /* the last time, by any of them */
	bool forgotten;	      /* by one consumer at least; counted already */
};

struct consumer {
	uint64_t retry_at_us; /* what it received is offered from then on */
	uint64_t retry_wait_us;
	bool hurries;	/* nothing waits */
	bool news_went; /* the last batch it answered, and more came before */
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
	ring_keep keep; /* or NULL */
	void *keeper;
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

/* NULL: dropped, stored by all, or never here. */
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

static bool is_kept(const struct ring *ring, const struct slot *slot)
{
	uint32_t all = bit_of(ring->consumer_count) - 1;

	return ring->keep != NULL &&
		ring->keep(ring->keeper, ring->oldest, all & ~slot->stored);
}

static void drop_oldest(struct ring *ring)
{
	struct slot *slot = slot_at(ring, ring->oldest);

	if (!is_kept(ring, slot) && !slot->forgotten) {
		ring->dropped++;
	}
	release(ring, slot);
	skip_freed(ring);
}

uint64_t ring_next_seq(const struct ring *ring)
{
	return ring->next;
}

static bool is_news(const struct slot *slot, uint32_t bit)
{
	return slot->bytes != NULL &&
		((slot->stored | slot->received) & bit) == 0;
}

static bool is_unstored(const struct slot *slot, uint32_t bit)
{
	return slot->bytes != NULL && (slot->stored & bit) == 0;
}

static bool has_any(const struct ring *ring,
	bool (*is_wanted)(const struct slot *slot, uint32_t bit),
	size_t consumer)
{
	for (uint64_t seq = ring->next; seq > ring->oldest; seq--) {
		if (is_wanted(slot_at(ring, seq - 1), bit_of(consumer))) {
			return true;
		}
	}
	return false;
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

		c->news_went = c->news_went && ring_has_news(ring, i);
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

/* What a batch is made of: either what the consumer was never given, or what
 * it has had long enough for its disk to have it by now. Together they would be
 * answered by the younger one's commit, which is never in time on a slow disk. */
struct choice {
	bool is_news;
	bool is_again;
	uint64_t until_us; /* again: what was received until then */
};

static bool is_due(const struct slot *slot, const struct choice *choice,
	uint32_t bit)
{
	if (choice->is_news) {
		return is_news(slot, bit);
	}
	return choice->is_again && is_unstored(slot, bit) &&
		!is_news(slot, bit) && slot->received_us <= choice->until_us;
}

/* The newest report that is due; 0: none. */
static uint64_t newest_due(const struct ring *ring, const struct choice *choice,
	uint32_t bit)
{
	for (uint64_t seq = ring->next; seq > ring->oldest; seq--) {
		if (is_due(slot_at(ring, seq - 1), choice, bit)) {
			return seq - 1;
		}
	}
	return 0;
}

static struct choice again(const struct consumer *consumer, uint64_t now_us)
{
	if (consumer->hurries) {
		return (struct choice){ .is_again = true,
			.until_us = UINT64_MAX };
	}
	return (struct choice){ .is_again = now_us >= consumer->retry_at_us &&
			now_us >= RING_SETTLE_US,
		.until_us = now_us - RING_SETTLE_US };
}

/* News first, but not one after the other for ever, as where answers take
 * longer than an interval. */
static struct choice choose(const struct ring *ring, size_t consumer,
	uint64_t now_us)
{
	const struct consumer *c = &ring->consumers[consumer];
	struct choice choice = again(c, now_us);

	if (has_any(ring, is_news, consumer) &&
		!(c->news_went &&
			newest_due(ring, &choice, bit_of(consumer)) != 0)) {
		return (struct choice){ .is_news = true };
	}
	return choice;
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
	uint64_t now_us)
{
	struct choice choice = choose(ring, consumer, now_us);
	uint32_t bit = bit_of(consumer);
	uint64_t newest = newest_due(ring, &choice, bit);
	size_t bytes;

	out->count = 0;
	if (newest == 0) {
		return;
	}
	bytes = wire_batched_size(slot_at(ring, newest)->len);
	for (uint64_t seq = ring->oldest; seq < newest; seq++) {
		const struct slot *slot = slot_at(ring, seq);

		if (!is_due(slot, &choice, bit)) {
			continue;
		}
		bytes += wire_batched_size(slot->len);
		if (bytes > RING_BATCH_BYTES ||
			out->count == WIRE_REPORTS_MAX - 1) {
			break;
		}
		put(out, slot, seq);
	}
	put(out, slot_at(ring, newest), newest);
}

void ring_pick_again(struct ring_batch *out, const struct ring *ring,
	size_t consumer)
{
	size_t count = out->count;

	out->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct slot *slot = find(ring, out->seqs[i]);

		if (slot != NULL && (slot->stored & bit_of(consumer)) == 0) {
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

	c->news_went = false;
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find(ring, seqs[i]);

		if (slot != NULL) {
			c->news_went |= is_news(slot, bit_of(consumer));
			settle(ring, slot, consumer);
		}
	}
	skip_freed(ring);
	/* Its disk takes writes again: the backlog need not wait. */
	c->retry_at_us = 0;
	c->retry_wait_us = RING_RETRY_MIN_US;
}

/* News alone says nothing about the backlog: only where that was offered again
 * in vain, the wait doubles. */
void ring_received(struct ring *ring, size_t consumer,
	const struct ring_batch *batch, uint64_t now_us)
{
	struct consumer *c = &ring->consumers[consumer];
	bool was_again = false;
	bool first = true;

	for (uint64_t seq = ring->oldest; seq < ring->next; seq++) {
		if ((slot_at(ring, seq)->received & bit_of(consumer)) != 0) {
			first = false;
			break;
		}
	}
	for (size_t i = 0; i < batch->count; i++) {
		struct slot *slot = find(ring, batch->seqs[i]);

		if (slot != NULL) {
			was_again |= !is_news(slot, bit_of(consumer));
			slot->received |= bit_of(consumer);
			slot->received_us = now_us;
		}
	}
	c->news_went = !was_again;
	if (was_again) {
		c->retry_wait_us = c->retry_wait_us * 2 > RING_RETRY_MAX_US
			? RING_RETRY_MAX_US
			: c->retry_wait_us * 2;
	}
	if (was_again || first) {
		c->retry_at_us = now_us + c->retry_wait_us;
	}
}

void ring_forget(struct ring *ring, size_t consumer, const uint64_t *seqs,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find(ring, seqs[i]);

		if (slot == NULL) {
			continue;
		}
		if (!slot->forgotten) {
			ring->dropped++;
		}
		slot->forgotten = true;
		settle(ring, slot, consumer);
	}
	skip_freed(ring);
}

void ring_set_keeper(struct ring *ring, ring_keep keep, void *owner)
{
	ring->keep = keep;
	ring->keeper = owner;
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

bool ring_has_news(const struct ring *ring, size_t consumer)
{
	return has_any(ring, is_news, consumer);
}

bool ring_hurry(struct ring *ring, size_t consumer)
{
	ring->consumers[consumer].hurries = true;
	return has_any(ring, is_unstored, consumer);
}

uint64_t ring_dropped(const struct ring *ring)
{
	return ring->dropped;
}

size_t ring_count(const struct ring *ring)
{
	return ring->count;
}

size_t ring_bytes(const struct ring *ring)
{
	return ring->bytes;
}
