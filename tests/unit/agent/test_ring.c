#include "agent/ring.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

STEADY("a report that is not acknowledged is kept");

enum {
	PLENTY = 1 << 30,
	HUGE = 2 * RING_BATCH_BYTES,
	MANY = 2 * WIRE_REPORTS_MAX
};

static void add(struct ring *ring, size_t len)
{
	scoped_free uint8_t *bytes = xcalloc(1, len);

	bytes[0] = (uint8_t)ring_next_seq(ring);
	ring_add(ring, bytes, len);
}

static void add_many(struct ring *ring, size_t count, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		add(ring, len);
	}
}

static struct ring_batch *pick(const struct ring *ring, size_t consumer,
	uint64_t now_us)
{
	static struct ring_batch batch;

	ring_pick(&batch, ring, consumer, RING_BATCH_BYTES, now_us);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.reports[i].bytes[0],
			(uint8_t)batch.seqs[i]);
		assert_true(i == 0 || batch.seqs[i] > batch.seqs[i - 1]);
	}
	return &batch;
}

static void store(struct ring *ring, size_t consumer, uint64_t seq)
{
	ring_stored(ring, consumer, &seq, 1);
}

static void sends_the_newest_report_and_the_backlog(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 1);
	const struct ring_batch *batch;

	(void)state;
	assert_int_equal(pick(ring, 0, 0)->count, 0);
	assert_int_equal(ring_next_seq(ring), 1);
	add_many(ring, 3, 10);
	batch = pick(ring, 0, 0);
	assert_int_equal(batch->count, 3);
	assert_int_equal(batch->seqs[0], 1);
	assert_int_equal(batch->seqs[2], 3);
	assert_int_equal(batch->reports[2].len, 10);
	ring_free(ring);
	ring_free(NULL);
}

static void always_sends_the_newest_report(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 1);
	const struct ring_batch *batch;

	(void)state;
	add_many(ring, 5, RING_BATCH_BYTES / 3);
	batch = pick(ring, 0, 0);
	assert_int_equal(batch->count, 2);
	assert_int_equal(batch->seqs[0], 1);
	assert_int_equal(batch->seqs[1], 5);
	ring_free(ring);
}

static void sends_a_report_larger_than_a_batch_alone(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 1);
	const struct ring_batch *batch;

	(void)state;
	add(ring, 10);
	add(ring, HUGE);
	batch = pick(ring, 0, 0);
	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->seqs[0], 2);
	ring_free(ring);
}

static void a_batch_has_at_most_the_reports_the_wire_allows(void **state)
{
	struct ring *ring = ring_new(MANY, PLENTY, 1);
	const struct ring_batch *batch;

	(void)state;
	add_many(ring, MANY, 10);
	batch = pick(ring, 0, 0);
	assert_int_equal(batch->count, WIRE_REPORTS_MAX);
	assert_int_equal(batch->seqs[0], 1);
	assert_int_equal(batch->seqs[batch->count - 1], MANY);
	ring_free(ring);
}

static void frees_only_reports_that_every_consumer_stored(void **state)
{
	struct ring *ring = ring_new(10, 25, 2);

	(void)state;
	add_many(ring, 2, 10);
	store(ring, 0, 1);
	assert_int_equal(ring_count(ring), 2);
	assert_int_equal(pick(ring, 0, 0)->count, 1);
	assert_int_equal(pick(ring, 1, 0)->count, 2);
	store(ring, 1, 1);
	assert_int_equal(ring_count(ring), 1);
	store(ring, 1, 1); /* a repeated answer */
	store(ring, 1, 99);
	assert_int_equal(ring_count(ring), 1);
	add(ring, 10); /* its bytes fit, because those of the first are free */
	assert_int_equal(ring_count(ring), 2);
	assert_int_equal(ring_dropped(ring), 0);
	ring_free(ring);
}

static void drops_the_oldest_report_by_count_and_by_bytes(void **state)
{
	struct ring *few = ring_new(3, PLENTY, 1);
	struct ring *small = ring_new(100, 25, 1);

	(void)state;
	add_many(few, 5, 10);
	assert_int_equal(ring_count(few), 3);
	assert_int_equal(ring_dropped(few), 2);
	assert_int_equal(pick(few, 0, 0)->seqs[0], 3);
	add_many(small, 3, 10);
	assert_int_equal(ring_count(small), 2);
	assert_int_equal(ring_dropped(small), 1);
	add(small, 60); /* larger than the ring, so alone */
	assert_int_equal(ring_count(small), 1);
	assert_int_equal(ring_dropped(small), 3);
	ring_free(few);
	ring_free(small);
}

static void sends_received_reports_again_after_a_wait(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 1);
	uint64_t now_us = RING_SETTLE_US;

	(void)state;
	add(ring, 10);
	assert_true(ring_has_unsent(ring, 0));
	ring_received(ring, 0, pick(ring, 0, now_us), now_us);
	assert_false(ring_has_unsent(ring, 0));
	assert_int_equal(ring_count(ring), 1);
	assert_int_equal(pick(ring, 0, now_us)->count, 0);
	/* An unsent report goes first. */
	add(ring, 10);
	assert_true(ring_has_unsent(ring, 0));
	assert_int_equal(pick(ring, 0, now_us)->seqs[0], 2);
	ring_received(ring, 0, pick(ring, 0, now_us + 5), now_us + 5);
	/* Each is due after its wait... */
	assert_int_equal(pick(ring, 0, now_us + RING_RETRY_MIN_US - 1)->count,
		0);
	assert_int_equal(pick(ring, 0, now_us + RING_SETTLE_US + 4)->count, 1);
	now_us += RING_RETRY_MIN_US + 5;
	assert_int_equal(pick(ring, 0, now_us)->count, 2);
	/* ...and waits longer after another such answer. */
	ring_received(ring, 0, pick(ring, 0, now_us), now_us);
	assert_int_equal(
		pick(ring, 0, now_us + 2 * RING_RETRY_MIN_US - 1)->count, 0);
	assert_int_equal(pick(ring, 0, now_us + 2 * RING_RETRY_MIN_US)->count,
		2);
	assert_int_equal(pick(ring, 0, now_us)->count, 0);
	assert_true(ring_flush(ring, 0));
	assert_int_equal(pick(ring, 0, now_us)->count, 2);
	ring_free(ring);
}

static void never_mixes_unsent_and_received_reports(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 2);
	uint64_t now_us = RING_SETTLE_US;

	(void)state;
	add_many(ring, 2, 10);
	ring_received(ring, 0, pick(ring, 0, now_us), now_us);
	now_us += RING_RETRY_MAX_US;
	add(ring, 10);
	assert_int_equal(pick(ring, 0, now_us)->count, 1);
	assert_int_equal(pick(ring, 0, now_us)->seqs[0], 3);
	/* The other consumer was sent nothing. */
	assert_int_equal(pick(ring, 1, now_us)->count, 3);
	ring_received(ring, 0, pick(ring, 0, now_us), now_us);
	/* The wait of the new report is not over. */
	assert_int_equal(pick(ring, 0, now_us)->count, 2);
	assert_int_equal(pick(ring, 0, now_us)->seqs[1], 2);
	ring_free(ring);
}

static void alternates_between_unsent_and_received_reports(void **state)
{
	struct ring *ring = ring_new(100, PLENTY, 1);
	uint64_t now_us = RING_SETTLE_US;
	uint64_t given = 0;
	uint64_t turns = 0;

	(void)state;
	add(ring, 10);
	for (int i = 0; i < 60; i++) {
		struct ring_batch batch = *pick(ring, 0, now_us);
		bool is_news = batch.seqs[batch.count - 1] > given;

		/* A new report is there before the answer. */
		add_many(ring, 2, 10);
		now_us += 200000;
		given = is_news ? batch.seqs[batch.count - 1] : given;
		if (!is_news) {
			ring_stored(ring, 0, batch.seqs, batch.count);
			turns++;
		} else {
			ring_received(ring, 0, &batch, now_us);
		}
	}
	/* For the first 2 s no wait is over. */
	assert_in_range(turns, 24, 25);
	assert_in_range(ring_count(ring), 1, 50);
	ring_free(ring);
}

static void retries_within_a_minute_and_at_once_after_a_commit(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 1);
	uint64_t now_us = RING_SETTLE_US;

	(void)state;
	add_many(ring, 2, 10);
	for (int i = 0; i < 20; i++) {
		ring_received(ring, 0, pick(ring, 0, now_us), now_us);
		now_us += RING_RETRY_MAX_US;
		assert_int_equal(pick(ring, 0, now_us)->count, 2);
	}
	ring_received(ring, 0, pick(ring, 0, now_us), now_us);
	assert_int_equal(pick(ring, 0, now_us)->count, 0);
	store(ring, 0, 2);
	now_us += RING_SETTLE_US;
	assert_int_equal(pick(ring, 0, now_us)->count, 1);
	ring_free(ring);
}

static void counts_a_report_that_one_consumer_refuses_once(void **state)
{
	struct ring *ring = ring_new(10, PLENTY, 2);
	const uint64_t seqs[] = { 1, 2, 50 };

	(void)state;
	add_many(ring, 3, 10);
	ring_drop(ring, 0, seqs, count_of(seqs));
	assert_int_equal(ring_dropped(ring), 2);
	assert_int_equal(pick(ring, 0, 0)->count, 1);
	assert_int_equal(pick(ring, 1, 0)->count, 3);
	ring_drop(ring, 1, seqs, 1);
	assert_int_equal(ring_dropped(ring), 2);
	assert_int_equal(ring_count(ring), 2);
	add_many(ring, 9, 10); /* drops 2, which is counted already */
	assert_int_equal(ring_count(ring), 10);
	assert_int_equal(ring_dropped(ring), 2);
	add(ring, 10);
	assert_int_equal(ring_dropped(ring), 3);
	ring_free(ring);
}

static void picks_the_same_reports_while_they_are_held(void **state)
{
	struct ring *ring = ring_new(4, PLENTY, 1);
	struct ring_batch *batch;

	(void)state;
	add_many(ring, 3, 10);
	batch = pick(ring, 0, 0);
	add_many(ring, 2, 10); /* drops 1 */
	store(ring, 0, 2);
	ring_pick_same(batch, ring, 0);
	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->seqs[0], 3);
	assert_int_equal(batch->reports[0].bytes[0], 3);
	ring_free(ring);
}

static void never_sends_a_skipped_number(void **state)
{
	struct ring *ring = ring_new(3, PLENTY, 1);
	const struct ring_batch *batch;

	(void)state;
	ring_skip(ring);
	add(ring, 10);
	ring_skip(ring);
	add(ring, 10);
	assert_int_equal(ring_dropped(ring), 2);
	batch = pick(ring, 0, 0);
	assert_int_equal(batch->count, 2);
	assert_int_equal(batch->seqs[0], 2);
	assert_int_equal(batch->seqs[1], 4);
	ring_skip(ring); /* drops 2 */
	assert_int_equal(ring_dropped(ring), 4);
	assert_int_equal(pick(ring, 0, 0)->count, 1);
	ring_free(ring);
}

/* ---- comparison with a simple model ---- */

enum { MODEL_REPORTS = 16, MODEL_CONSUMERS = 3, MODEL_SEQS = 4000 };

struct model {
	bool here[MODEL_SEQS];
	bool stored[MODEL_SEQS][MODEL_CONSUMERS];
	bool received[MODEL_SEQS][MODEL_CONSUMERS];
	uint64_t next, dropped, freed;
};

static uint64_t model_oldest(const struct model *m)
{
	uint64_t seq = 1;

	while (seq < m->next && !m->here[seq]) {
		seq++;
	}
	return seq;
}

static size_t model_count(const struct model *m)
{
	size_t count = 0;

	for (uint64_t seq = 1; seq < m->next; seq++) {
		count += m->here[seq] ? 1 : 0;
	}
	return count;
}

static void model_add(struct model *m)
{
	uint64_t oldest = model_oldest(m);

	if (oldest < m->next && m->next - oldest >= MODEL_REPORTS) {
		m->here[oldest] = false;
		m->dropped++;
	}
	m->here[m->next++] = true;
}

static void model_store(struct model *m, size_t consumer, uint64_t seq)
{
	bool all = true;

	m->stored[seq][consumer] = true;
	for (size_t i = 0; i < MODEL_CONSUMERS; i++) {
		all = all && m->stored[seq][i];
	}
	if (all && m->here[seq]) {
		m->here[seq] = false;
		m->freed++;
	}
}

static bool model_has_news(const struct model *m, size_t consumer)
{
	for (uint64_t seq = 1; seq < m->next; seq++) {
		if (m->here[seq] && !m->stored[seq][consumer] &&
			!m->received[seq][consumer]) {
			return true;
		}
	}
	return false;
}

/* With small reports and no wait before a retry, a batch has every report that
 * is not stored, or every unsent one, or every one except the unsent. */
static void model_check(const struct model *m, const struct ring_batch *batch,
	size_t consumer)
{
	bool has_news = model_has_news(m, consumer);
	bool is_again =
		batch->count > 0 && m->received[batch->seqs[0]][consumer];
	size_t at = 0;

	for (uint64_t seq = 1; seq < m->next; seq++) {
		if (m->here[seq] && !m->stored[seq][consumer] &&
			!(has_news && m->received[seq][consumer] != is_again)) {
			assert_true(at < batch->count);
			assert_int_equal(batch->seqs[at], seq);
			at++;
		}
	}
	assert_int_equal(at, batch->count);
}

static void model_answer(struct model *m, struct ring *ring, size_t consumer,
	uint64_t now_us)
{
	struct ring_batch batch = *pick(ring, consumer, now_us);

	model_check(m, &batch, consumer);
	if (random() % 4 == 0) {
		ring_received(ring, consumer, &batch, now_us);
		for (size_t i = 0; i < batch.count; i++) {
			m->received[batch.seqs[i]][consumer] = true;
		}
		return;
	}
	/* Reports that are made before the answer arrives. */
	for (long i = random() % 3; i > 0; i--) {
		add(ring, 10);
		model_add(m);
	}
	ring_stored(ring, consumer, batch.seqs, batch.count);
	for (size_t i = 0; i < batch.count; i++) {
		if (m->here[batch.seqs[i]]) {
			model_store(m, consumer, batch.seqs[i]);
		}
	}
}

static void model_step(struct model *m, struct ring *ring, uint64_t now_us)
{
	if (random() % 2 == 0) {
		add(ring, 10);
		model_add(m);
	} else {
		model_answer(m, ring, (size_t)random() % MODEL_CONSUMERS,
			now_us);
	}
	assert_int_equal(ring_next_seq(ring), m->next);
	assert_int_equal(ring_dropped(ring), m->dropped);
	assert_int_equal(ring_count(ring), model_count(m));
	assert_int_equal(m->next - 1, m->freed + m->dropped + ring_count(ring));
}

static void counts_every_lost_report(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct model *m = xcalloc(1, sizeof(*m));
		struct ring *ring =
			ring_new(MODEL_REPORTS, PLENTY, MODEL_CONSUMERS);

		m->next = 1;
		srandom(seed);
		for (uint64_t step = 1; step <= 600; step++) {
			model_step(m, ring, step * RING_RETRY_MAX_US);
		}
		ring_free(ring);
		free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_the_newest_report_and_the_backlog),
		cmocka_unit_test(always_sends_the_newest_report),
		cmocka_unit_test(sends_a_report_larger_than_a_batch_alone),
		cmocka_unit_test(
			a_batch_has_at_most_the_reports_the_wire_allows),
		cmocka_unit_test(frees_only_reports_that_every_consumer_stored),
		cmocka_unit_test(drops_the_oldest_report_by_count_and_by_bytes),
		cmocka_unit_test(sends_received_reports_again_after_a_wait),
		cmocka_unit_test(never_mixes_unsent_and_received_reports),
		cmocka_unit_test(
			alternates_between_unsent_and_received_reports),
		cmocka_unit_test(
			retries_within_a_minute_and_at_once_after_a_commit),
		cmocka_unit_test(
			counts_a_report_that_one_consumer_refuses_once),
		cmocka_unit_test(picks_the_same_reports_while_they_are_held),
		cmocka_unit_test(never_sends_a_skipped_number),
		cmocka_unit_test(counts_every_lost_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
