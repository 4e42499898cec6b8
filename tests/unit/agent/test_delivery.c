#include "agent/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "tests/support/cm.h"

static const uint8_t run_id[REPORT_RUN_ID_BYTES] = { 1, 2, 3, 16 };

struct fixture {
	struct ring *ring;
	struct delivery_options options;
	struct delivery *delivery;
	uint64_t now_us;
	char *token;
	struct buffer sent;
	struct wire_request request; /* sent last, if any */
	bool has_request;
	struct error why;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){
		.ring = ring_new(10, 1 << 20, 1),
		.now_us = 1000000,
		.sent = BUFFER_MAX(MQ_SEND_MAX),
	};
	f.options = (struct delivery_options){
		.node = "node-1",
		.run_id = run_id,
		.boot_id = "this-boot",
		.version = "1.0",
		.ring = f.ring,
	};
	f.delivery = delivery_new(&f.options);
	*state = &f;
	return 0;
}

static void forget_request(struct fixture *f)
{
	if (f->has_request) {
		wire_request_fini(&f->request);
	}
	f->has_request = false;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	forget_request(f);
	buffer_fini(&f->sent);
	delivery_free(f->delivery);
	ring_free(f->ring);
	return 0;
}

static void add_report(struct fixture *f)
{
	struct buffer bytes = BUFFER_MAX(4096);
	struct report report;

	report_init(&report);
	report.seq = ring_next_seq(f->ring);
	report.monotonic_us = f->now_us;
	report.wall_us = 1;
	report.interval_ms = 2000;
	report.dropped = 0;
	wire_pack_report(&bytes, &report);
	ring_add(f->ring, (const uint8_t *)bytes.data, bytes.len);
	buffer_fini(&bytes);
	report_fini(&report);
}

static bool next(struct fixture *f)
{
	forget_request(f);
	buffer_clear(&f->sent);
	if (!delivery_next(f->delivery, &f->sent, f->token, f->now_us)) {
		return false;
	}
	assert_int_equal(
		wire_unpack_request(&f->request, (const uint8_t *)f->sent.data,
			f->sent.len, NULL),
		0);
	f->has_request = true;
	return true;
}

static enum delivery_event send_reply(struct fixture *f,
	const struct buffer *reply)
{
	f->why = (struct error){ 0 };
	return delivery_reply(f->delivery, (const uint8_t *)reply->data,
		reply->len, f->now_us, &f->why);
}

static enum delivery_event reply_ack(struct fixture *f, struct ack ack)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum delivery_event event;

	wire_pack_ack(&reply, &ack);
	event = send_reply(f, &reply);
	buffer_fini(&reply);
	return event;
}

static enum delivery_event reply_welcome(struct fixture *f)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum delivery_event event;

	wire_pack_welcome(&reply, "1.0");
	event = send_reply(f, &reply);
	buffer_fini(&reply);
	return event;
}

static enum delivery_event reply_refusal(struct fixture *f)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum delivery_event event;

	wire_pack_refused(&reply, "no", 0);
	event = send_reply(f, &reply);
	buffer_fini(&reply);
	return event;
}

static enum delivery_event reply_wait(struct fixture *f, uint32_t retry_ms)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum delivery_event event;

	wire_pack_refused(&reply, "later", retry_ms);
	event = send_reply(f, &reply);
	buffer_fini(&reply);
	return event;
}

static void welcome(struct fixture *f)
{
	assert_true(next(f));
	assert_int_equal(f->request.kind, WIRE_HELLO);
	assert_int_equal(reply_welcome(f), DELIVERY_WELCOMED);
}

static void sends_hello_and_then_reports(void **state)
{
	struct fixture *f = *state;

	add_report(f);
	assert_true(next(f));
	assert_int_equal(f->request.kind, WIRE_HELLO);
	assert_string_equal(f->request.hello.node, "node-1");
	assert_string_equal(f->request.hello.version, "1.0");
	assert_memory_equal(f->request.hello.run_id, run_id, sizeof(run_id));
	assert_int_equal(reply_welcome(f), DELIVERY_WELCOMED);
	assert_true(delivery_flush(f->delivery));
	f->now_us += 700;
	assert_true(next(f));
	assert_int_equal(f->request.kind, WIRE_BATCH);
	assert_string_equal(f->request.batch.node, "node-1");
	assert_memory_equal(f->request.batch.run_id, run_id, sizeof(run_id));
	assert_int_equal(f->request.batch.sent_monotonic_us, f->now_us);
	assert_int_equal(f->request.batch.count, 1);
	assert_int_equal(f->request.batch.reports[0].seq, 1);
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_int_equal(ring_count(f->ring), 0);
	assert_false(delivery_flush(f->delivery));
	assert_false(next(f));
}

static void an_ack_covers_only_the_reports_of_its_batch(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	add_report(f);
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_int_equal(ring_count(f->ring), 1);
	assert_true(next(f));
	assert_int_equal(f->request.batch.count, 1);
	assert_int_equal(f->request.batch.reports[0].seq, 2);
}

static void keeps_reports_that_were_only_received(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ 0 }), DELIVERY_RECEIVED);
	assert_int_equal(ring_count(f->ring), 1);
	assert_false(next(f));
	f->now_us += RING_RETRY_MIN_US;
	assert_true(next(f));
	assert_int_equal(f->request.batch.reports[0].seq, 1);
}

static void a_slow_aggregator_is_told_from_one_that_cannot_store(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ .is_failing = true }),
		DELIVERY_UNSTORED);
	assert_int_equal(ring_count(f->ring), 1);
	f->now_us += RING_RETRY_MIN_US;
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ 0 }), DELIVERY_RECEIVED);
}

static void sends_received_reports_again_at_once_when_flushing(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ 0 }), DELIVERY_RECEIVED);
	assert_false(next(f));
	assert_true(delivery_flush(f->delivery));
	assert_true(next(f));
	assert_int_equal(f->request.batch.reports[0].seq, 1);
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_false(delivery_flush(f->delivery));
}

static void sends_hello_when_requested_and_loses_no_report(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_int_equal(
		reply_ack(f,
			(struct ack){ .stored = true, .need_hello = true }),
		DELIVERY_HELLO_DUE);
	assert_int_equal(ring_count(f->ring), 1);
	welcome(f);
	assert_true(next(f));
	assert_int_equal(f->request.batch.count, 1);
	/* The second request in a row makes it wait. */
	assert_int_equal(reply_ack(f, (struct ack){ .need_hello = true }),
		DELIVERY_HELLO_DUE);
	assert_false(next(f));
	f->now_us += DELIVERY_NO_REPLY_US;
	welcome(f);
}

static void sends_a_batch_again_after_no_reply(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	add_report(f);
	assert_int_equal(
		delivery_reply(f->delivery, NULL, 0, f->now_us, &f->why),
		DELIVERY_NO_REPLY);
	assert_int_equal(f->why.code, -ETIMEDOUT);
	assert_int_equal(delivery_waits_until_us(f->delivery),
		f->now_us + DELIVERY_NO_REPLY_US);
	assert_false(next(f));
	f->now_us += DELIVERY_NO_REPLY_US;
	assert_true(next(f));
	assert_int_equal(f->request.batch.count, 2);
	assert_int_equal(delivery_waits_until_us(f->delivery), 0);
}

enum { LARGE = 8000 };

/* The number of large reports in the next batch. */
static size_t next_of_large(struct fixture *f)
{
	buffer_clear(&f->sent);
	assert_true(delivery_next(f->delivery, &f->sent, NULL, f->now_us));
	return f->sent.len / LARGE;
}

static void a_slow_aggregator_gets_small_batches(void **state)
{
	static const uint8_t large[LARGE];
	struct fixture *f = *state;

	for (int i = 0; i < 10; i++) {
		ring_add(f->ring, large, sizeof(large));
	}
	welcome(f);
	assert_int_equal(next_of_large(f), 4);
	assert_int_equal(
		delivery_reply(f->delivery, NULL, 0, f->now_us, &f->why),
		DELIVERY_NO_REPLY);
	f->now_us += DELIVERY_NO_REPLY_US;
	assert_int_equal(next_of_large(f), 2);
	f->now_us += DELIVERY_SLOW_US + 1;
	(void)reply_ack(f, (struct ack){ .stored = true });
	assert_int_equal(next_of_large(f), 2);
	f->now_us += DELIVERY_SLOW_US;
	(void)reply_ack(f, (struct ack){ .stored = true });
	assert_int_equal(next_of_large(f), 4);
	(void)reply_ack(f, (struct ack){ .stored = true });
	assert_int_equal(next_of_large(f), 2); /* all that are left */
}

/* As long as another agent reports for the node. */
static void an_agent_that_waits_keeps_its_reports(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3 * DELIVERY_REFUSALS_MAX; i++) {
		add_report(f);
		assert_true(next(f));
		assert_int_equal(f->request.kind, WIRE_HELLO);
		assert_int_equal(reply_wait(f, 1000), DELIVERY_WAITING);
		assert_string_equal(f->why.text, "later");
		assert_false(next(f));
		f->now_us += 1000000;
	}
	welcome(f);
	assert_true(next(f));
	assert_int_equal(f->request.batch.count, 3 * DELIVERY_REFUSALS_MAX);
	assert_int_equal(ring_dropped(f->ring), 0);
}

static void the_wait_that_an_aggregator_asks_for_has_limits(void **state)
{
	struct fixture *f = *state;

	assert_true(next(f));
	assert_int_equal(reply_wait(f, 1), DELIVERY_WAITING);
	assert_int_equal(delivery_waits_until_us(f->delivery),
		f->now_us + DELIVERY_WAIT_MIN_US);
	f->now_us += DELIVERY_WAIT_MIN_US;
	assert_true(next(f));
	assert_int_equal(reply_wait(f, 2500), DELIVERY_WAITING);
	assert_int_equal(delivery_waits_until_us(f->delivery),
		f->now_us + 2500000);
	f->now_us += 2500000;
	assert_true(next(f));
	assert_int_equal(reply_wait(f, UINT32_MAX), DELIVERY_WAITING);
	assert_int_equal(delivery_waits_until_us(f->delivery),
		f->now_us + DELIVERY_HELLO_REFUSED_US);
}

static void drops_a_report_that_is_refused_three_times(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	for (int i = 1; i < DELIVERY_REFUSALS_MAX; i++) {
		assert_true(next(f));
		assert_int_equal(f->request.batch.count, 1);
		assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
		assert_string_equal(f->why.text, "no");
		assert_false(next(f));
		add_report(f); /* not part of the refused batch */
		f->now_us += DELIVERY_BATCH_REFUSED_US;
	}
	assert_true(next(f));
	assert_int_equal(reply_refusal(f), DELIVERY_DROPPED);
	assert_int_equal(ring_dropped(f->ring), 1);
	assert_true(next(f));
	assert_int_equal(f->request.batch.count, 2);
	assert_int_equal(f->request.batch.reports[0].seq, 2);
	assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
}

static void one_bad_report_costs_no_other_report(void **state)
{
	struct fixture *f = *state;
	enum { REPORTS = 8, BAD = 3 };

	welcome(f);
	for (int i = 0; i < REPORTS; i++) {
		add_report(f);
	}
	for (int tries = 0; tries < 100 && ring_count(f->ring) > 0; tries++) {
		bool is_bad = false;

		f->now_us += DELIVERY_BATCH_REFUSED_US;
		if (!next(f)) {
			continue;
		}
		for (size_t i = 0; i < f->request.batch.count; i++) {
			is_bad |= f->request.batch.reports[i].seq == BAD;
		}
		if (is_bad) {
			(void)reply_refusal(f);
		} else {
			assert_int_equal(
				reply_ack(f, (struct ack){ .stored = true }),
				DELIVERY_STORED);
		}
	}
	assert_int_equal(ring_count(f->ring), 0);
	assert_int_equal(ring_dropped(f->ring), 1);
}

static void resets_the_refusal_count_after_an_accepted_batch(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	for (int i = 0; i < 2 * DELIVERY_REFUSALS_MAX; i++) {
		add_report(f);
		assert_true(next(f));
		assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
		f->now_us += DELIVERY_BATCH_REFUSED_US;
		assert_true(next(f));
		assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
			DELIVERY_STORED);
		assert_false(next(f));
	}
	assert_int_equal(ring_dropped(f->ring), 0);
}

static void a_batch_that_was_received_in_the_end_is_not_sent_at_once(
	void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
	f->now_us += DELIVERY_BATCH_REFUSED_US;
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ 0 }), DELIVERY_RECEIVED);
	assert_false(next(f));
}

/* A spool with reports of an earlier run of another boot. */
static void leave_an_old_report(const char *dir)
{
	static const uint8_t old_run[REPORT_RUN_ID_BYTES] = { 9 };
	struct ring *ring = ring_new(10, 1 << 20, 1);
	struct buffer bytes = BUFFER_MAX(4096);
	struct spool *spool;
	struct report report;

	report_init(&report);
	report.seq = 1;
	memcpy(report.boot_id, "an-older-boot", sizeof("an-older-boot"));
	report.monotonic_us = UINT64_C(5000000000);
	report.wall_us = clock_wall_us() - UINT64_C(3600000000);
	report.interval_ms = 2000;
	wire_pack_report(&bytes, &report);
	ring_add(ring, (const uint8_t *)bytes.data, bytes.len);
	buffer_fini(&bytes);
	report_fini(&report);
	assert_int_equal(spool_open(&spool,
				 &(struct spool_options){ .dir = dir,
					 .bytes_max = 8 << 20,
					 .run_id = old_run,
					 .ring = ring,
					 .consumers = 1 },
				 NULL),
		0);
	spool_write_all(spool);
	spool_close(spool);
	ring_free(ring);
}

static void open_old_spool(struct spool **out, const struct fixture *f,
	char *dir)
{
	assert_non_null(mkdtemp(dir));
	leave_an_old_report(dir);
	assert_int_equal(spool_open(out,
				 &(struct spool_options){ .dir = dir,
					 .bytes_max = 8 << 20,
					 .run_id = run_id,
					 .ring = f->ring,
					 .consumers = 1 },
				 NULL),
		0);
}

/* All of its reports are stored. */
static void remove_spool(struct spool *spool, const char *dir)
{
	scoped_free char *lock = xasprintf("%s/lock", dir);

	spool_before_add(spool);
	spool_close(spool);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void sends_reports_of_an_earlier_boot_with_their_run_and_age(
	void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/delivery-XXXXXX";
	struct delivery_options options = f->options;
	const struct wire_request *sent = &f->request;

	open_old_spool(&options.spool, f, dir);
	delivery_free(f->delivery);
	f->delivery = delivery_new(&options);
	welcome(f);
	add_report(f);
	assert_true(next(f));
	assert_memory_equal(sent->batch.run_id, run_id, sizeof(run_id));
	/* A new report before the reply is not sent first. */
	add_report(f);
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_true(next(f));
	assert_int_equal(sent->batch.run_id[0], 9);
	assert_int_equal(sent->batch.count, 1);
	assert_in_range(sent->batch.sent_monotonic_us -
			sent->batch.reports[0].monotonic_us,
		UINT64_C(3600000000), UINT64_C(3700000000));
	/* Received, but not stored: not sent again at once. */
	assert_int_equal(reply_ack(f, (struct ack){ .is_failing = true }),
		DELIVERY_UNSTORED);
	assert_true(next(f));
	assert_memory_equal(sent->batch.run_id, run_id, sizeof(run_id));
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_false(next(f));
	f->now_us += DELIVERY_SPOOL_RETRY_US;
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_false(next(f));
	remove_spool(options.spool, dir);
}

static void the_spool_has_its_turn_after_a_report_was_dropped(void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/delivery-XXXXXX";
	struct delivery_options options = f->options;
	const struct wire_request *sent = &f->request;

	open_old_spool(&options.spool, f, dir);
	delivery_free(f->delivery);
	f->delivery = delivery_new(&options);
	welcome(f);
	add_report(f);
	for (int i = 1; i < DELIVERY_REFUSALS_MAX; i++) {
		assert_true(next(f));
		assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
		f->now_us += DELIVERY_BATCH_REFUSED_US;
	}
	assert_true(next(f));
	assert_memory_equal(sent->batch.run_id, run_id, sizeof(run_id));
	add_report(f);
	assert_int_equal(reply_refusal(f), DELIVERY_DROPPED);
	assert_true(next(f));
	assert_int_equal(sent->batch.run_id[0], 9);
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_true(next(f));
	assert_int_equal(reply_ack(f, (struct ack){ .stored = true }),
		DELIVERY_STORED);
	assert_false(next(f));
	remove_spool(options.spool, dir);
}

static void waits_after_a_refused_hello(void **state)
{
	struct fixture *f = *state;

	assert_true(next(f));
	assert_int_equal(reply_refusal(f), DELIVERY_REFUSED);
	assert_false(next(f));
	f->now_us += DELIVERY_HELLO_REFUSED_US;
	welcome(f);
}

static void sends_the_token_only_in_hello(void **state)
{
	struct fixture *f = *state;
	char token[] = "head.body.seal";

	f->token = token;
	add_report(f);
	assert_true(delivery_hello_is_due(f->delivery, f->now_us));
	assert_true(next(f));
	assert_int_equal(f->request.hello.role, HELLO_AGENT);
	assert_string_equal(f->request.hello.token, token);
	assert_int_equal(reply_welcome(f), DELIVERY_WELCOMED);
	assert_false(delivery_hello_is_due(f->delivery, f->now_us));
	assert_true(next(f));
	assert_null(memmem(f->sent.data, f->sent.len, token, strlen(token)));
	assert_int_equal(reply_ack(f, (struct ack){ .need_hello = true }),
		DELIVERY_HELLO_DUE);
	assert_true(delivery_hello_is_due(f->delivery, f->now_us));
}

static void a_postponed_hello_is_due_after_ten_seconds(void **state)
{
	struct fixture *f = *state;

	delivery_postpone_hello(f->delivery, f->now_us);
	assert_false(delivery_hello_is_due(f->delivery, f->now_us + 9999999));
	assert_false(next(f));
	f->now_us += 10000000;
	assert_true(delivery_hello_is_due(f->delivery, f->now_us));
	welcome(f);
}

static void survives_invalid_replies(void **state)
{
	static const char *const texts[] = { "", "\xff", "hello there" };
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(next(f));
		assert_int_equal(
			delivery_reply(f->delivery, (const uint8_t *)texts[i],
				strlen(texts[i]), f->now_us, &f->why),
			DELIVERY_NO_REPLY);
		assert_true(f->why.text[0] != '\0');
		assert_false(next(f));
		f->now_us += DELIVERY_NO_REPLY_US;
	}
	assert_true(next(f));
	assert_int_equal(reply_welcome(f), DELIVERY_NO_REPLY);
	assert_int_equal(f->why.code, -EPROTO);
	assert_int_equal(ring_count(f->ring), 1);
}

static void returns_the_interval_that_the_aggregator_asks_for(void **state)
{
	struct fixture *f = *state;

	welcome(f);
	add_report(f);
	assert_true(next(f));
	(void)reply_ack(f,
		(struct ack){ .stored = true, .interval_hint_ms = 5000 });
	assert_int_equal(delivery_interval_hint_ms(f->delivery), 5000);
	add_report(f);
	assert_true(next(f));
	(void)reply_ack(f, (struct ack){ .stored = true });
	assert_int_equal(delivery_interval_hint_ms(f->delivery), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_hello_and_then_reports),
		TEST(an_ack_covers_only_the_reports_of_its_batch),
		TEST(keeps_reports_that_were_only_received),
		TEST(a_slow_aggregator_is_told_from_one_that_cannot_store),
		TEST(sends_received_reports_again_at_once_when_flushing),
		TEST(sends_hello_when_requested_and_loses_no_report),
		TEST(sends_a_batch_again_after_no_reply),
		TEST(a_slow_aggregator_gets_small_batches),
		TEST(an_agent_that_waits_keeps_its_reports),
		TEST(the_wait_that_an_aggregator_asks_for_has_limits),
		TEST(drops_a_report_that_is_refused_three_times),
		TEST(one_bad_report_costs_no_other_report),
		TEST(resets_the_refusal_count_after_an_accepted_batch),
		TEST(a_batch_that_was_received_in_the_end_is_not_sent_at_once),
		TEST(sends_reports_of_an_earlier_boot_with_their_run_and_age),
		TEST(the_spool_has_its_turn_after_a_report_was_dropped),
		TEST(waits_after_a_refused_hello),
		TEST(sends_the_token_only_in_hello),
		TEST(a_postponed_hello_is_due_after_ten_seconds),
		TEST(survives_invalid_replies),
		TEST(returns_the_interval_that_the_aggregator_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
