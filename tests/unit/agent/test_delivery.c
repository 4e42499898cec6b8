#include "agent/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "tests/support/cm.h"

static const uint8_t run_id[REPORT_RUN_ID_BYTES] = { 1, 2, 3, 16 };

struct fixture {
	struct ring *ring;
	struct session_options options;
	struct session *session;
	uint64_t now_us;
	char *token;
	struct buffer sent;
	struct wire_request request; /* what was sent, if any */
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
	f.options = (struct session_options){
		.node = "node-1",
		.run_id = run_id,
		.boot_id = "this-boot",
		.version = "1.0",
		.ring = f.ring,
	};
	f.session = session_new(&f.options);
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
	session_free(f->session);
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

static bool say(struct fixture *f)
{
	forget_request(f);
	buffer_clear(&f->sent);
	if (!session_next(f->session, &f->sent, f->token, f->now_us)) {
		return false;
	}
	assert_int_equal(
		wire_unpack_request(&f->request, (const uint8_t *)f->sent.data,
			f->sent.len, NULL),
		0);
	f->has_request = true;
	return true;
}

static enum session_event hear(struct fixture *f, const struct buffer *reply)
{
	f->why = (struct error){ 0 };
	return session_answer(f->session, (const uint8_t *)reply->data,
		reply->len, f->now_us, &f->why);
}

static enum session_event hear_ack(struct fixture *f, struct ack ack)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum session_event event;

	wire_pack_ack(&reply, &ack);
	event = hear(f, &reply);
	buffer_fini(&reply);
	return event;
}

static enum session_event hear_welcome(struct fixture *f)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum session_event event;

	wire_pack_welcome(&reply, "1.0");
	event = hear(f, &reply);
	buffer_fini(&reply);
	return event;
}

static enum session_event hear_refusal(struct fixture *f)
{
	struct buffer reply = BUFFER_MAX(4096);
	enum session_event event;

	wire_pack_refused(&reply, "no");
	event = hear(f, &reply);
	buffer_fini(&reply);
	return event;
}

static void greet(struct fixture *f)
{
	assert_true(say(f));
	assert_int_equal(f->request.kind, WIRE_HELLO);
	assert_int_equal(hear_welcome(f), SESSION_WELCOMED);
}

static void says_hello_then_what_there_is(void **state)
{
	struct fixture *f = *state;

	add_report(f);
	assert_true(say(f));
	assert_int_equal(f->request.kind, WIRE_HELLO);
	assert_string_equal(f->request.hello.node, "node-1");
	assert_string_equal(f->request.hello.version, "1.0");
	assert_memory_equal(f->request.hello.run_id, run_id, sizeof(run_id));
	assert_int_equal(hear_welcome(f), SESSION_WELCOMED);
	assert_true(session_hurry(f->session));
	f->now_us += 700;
	assert_true(say(f));
	assert_int_equal(f->request.kind, WIRE_BATCH);
	assert_string_equal(f->request.batch.node, "node-1");
	assert_memory_equal(f->request.batch.run_id, run_id, sizeof(run_id));
	assert_int_equal(f->request.batch.sent_monotonic_us, f->now_us);
	assert_int_equal(f->request.batch.count, 1);
	assert_int_equal(f->request.batch.reports[0].seq, 1);
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_int_equal(ring_count(f->ring), 0);
	assert_false(session_hurry(f->session));
	assert_false(say(f));
}

static void an_ack_is_about_the_reports_of_its_batch_only(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	add_report(f);
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_int_equal(ring_count(f->ring), 1);
	assert_true(say(f));
	assert_int_equal(f->request.batch.count, 1);
	assert_int_equal(f->request.batch.reports[0].seq, 2);
}

static void keeps_what_was_received_only(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	assert_int_equal(hear_ack(f, (struct ack){ 0 }), SESSION_RECEIVED);
	assert_int_equal(ring_count(f->ring), 1);
	assert_false(say(f));
	f->now_us += RING_RETRY_MIN_US;
	assert_true(say(f));
	assert_int_equal(f->request.batch.reports[0].seq, 1);
}

static void offers_what_was_received_at_once_when_it_is_in_a_hurry(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	assert_int_equal(hear_ack(f, (struct ack){ 0 }), SESSION_RECEIVED);
	assert_false(say(f));
	assert_true(session_hurry(f->session));
	assert_true(say(f));
	assert_int_equal(f->request.batch.reports[0].seq, 1);
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_false(session_hurry(f->session));
}

static void greets_again_when_asked_and_loses_nothing(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	assert_int_equal(
		hear_ack(f, (struct ack){ .stored = true, .need_hello = true }),
		SESSION_HELLO_DUE);
	assert_int_equal(ring_count(f->ring), 1);
	greet(f);
	assert_true(say(f));
	assert_int_equal(f->request.batch.count, 1);
	/* Asked twice in a row, it takes its time. */
	assert_int_equal(hear_ack(f, (struct ack){ .need_hello = true }),
		SESSION_HELLO_DUE);
	assert_false(say(f));
	f->now_us += SESSION_NO_ANSWER_US;
	greet(f);
}

static void offers_a_batch_again_when_no_answer_came(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	add_report(f);
	assert_int_equal(
		session_answer(f->session, NULL, 0, f->now_us, &f->why),
		SESSION_NO_ANSWER);
	assert_int_equal(f->why.code, -ETIMEDOUT);
	assert_int_equal(session_waits_until_us(f->session),
		f->now_us + SESSION_NO_ANSWER_US);
	assert_false(say(f));
	f->now_us += SESSION_NO_ANSWER_US;
	assert_true(say(f));
	assert_int_equal(f->request.batch.count, 2);
	assert_int_equal(session_waits_until_us(f->session), 0);
}

static void gives_up_a_batch_that_is_refused_three_times(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	for (int i = 1; i < SESSION_REFUSALS_MAX; i++) {
		assert_true(say(f));
		assert_int_equal(f->request.batch.count, 1);
		assert_int_equal(hear_refusal(f), SESSION_REFUSED);
		assert_string_equal(f->why.text, "no");
		assert_false(say(f));
		add_report(f); /* not mixed into what was refused */
		f->now_us += SESSION_BATCH_REFUSED_US;
	}
	assert_true(say(f));
	assert_int_equal(hear_refusal(f), SESSION_DROPPED);
	assert_int_equal(ring_dropped(f->ring), 1);
	assert_true(say(f));
	assert_int_equal(f->request.batch.count, 2);
	assert_int_equal(f->request.batch.reports[0].seq, 2);
	assert_int_equal(hear_refusal(f), SESSION_REFUSED);
}

static void one_bad_report_costs_no_other(void **state)
{
	struct fixture *f = *state;
	enum { REPORTS = 8, BAD = 3 };

	greet(f);
	for (int i = 0; i < REPORTS; i++) {
		add_report(f);
	}
	for (int tries = 0; tries < 100 && ring_count(f->ring) > 0; tries++) {
		bool is_bad = false;

		f->now_us += SESSION_BATCH_REFUSED_US;
		if (!say(f)) {
			continue;
		}
		for (size_t i = 0; i < f->request.batch.count; i++) {
			is_bad |= f->request.batch.reports[i].seq == BAD;
		}
		if (is_bad) {
			(void)hear_refusal(f);
		} else {
			assert_int_equal(
				hear_ack(f, (struct ack){ .stored = true }),
				SESSION_STORED);
		}
	}
	assert_int_equal(ring_count(f->ring), 0);
	assert_int_equal(ring_dropped(f->ring), 1);
}

static void an_accepted_batch_ends_the_count_of_refusals(void **state)
{
	struct fixture *f = *state;

	greet(f);
	for (int i = 0; i < 2 * SESSION_REFUSALS_MAX; i++) {
		add_report(f);
		assert_true(say(f));
		assert_int_equal(hear_refusal(f), SESSION_REFUSED);
		f->now_us += SESSION_BATCH_REFUSED_US;
		assert_true(say(f));
		assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
			SESSION_STORED);
	}
	assert_int_equal(ring_dropped(f->ring), 0);
}

/* A folder with what an earlier run of another boot left. */
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
	spool_keep_all(spool);
	spool_close(spool);
	ring_free(ring);
}

static void what_an_earlier_boot_left_goes_with_its_run_and_its_age(
	void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/session-XXXXXX";
	scoped_free char *lock = NULL;
	struct session_options options = f->options;
	const struct wire_request *sent = &f->request;

	assert_non_null(mkdtemp(dir));
	leave_an_old_report(dir);
	assert_int_equal(spool_open(&options.spool,
				 &(struct spool_options){ .dir = dir,
					 .bytes_max = 8 << 20,
					 .run_id = run_id,
					 .ring = f->ring,
					 .consumers = 1 },
				 NULL),
		0);
	session_free(f->session);
	f->session = session_new(&options);
	greet(f);
	add_report(f);
	assert_true(say(f));
	assert_memory_equal(sent->batch.run_id, run_id, sizeof(run_id));
	/* The next is there before the answer: it does not go first. */
	add_report(f);
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_true(say(f));
	assert_int_equal(sent->batch.run_id[0], 9);
	assert_int_equal(sent->batch.count, 1);
	assert_in_range(sent->batch.sent_monotonic_us -
			sent->batch.reports[0].monotonic_us,
		UINT64_C(3600000000), UINT64_C(3700000000));
	/* Taken, but not to disk: not again at once. */
	assert_int_equal(hear_ack(f, (struct ack){ .stored = false }),
		SESSION_RECEIVED);
	assert_true(say(f));
	assert_memory_equal(sent->batch.run_id, run_id, sizeof(run_id));
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_false(say(f));
	f->now_us += SESSION_SPOOL_AGAIN_US;
	assert_true(say(f));
	assert_int_equal(hear_ack(f, (struct ack){ .stored = true }),
		SESSION_STORED);
	assert_false(say(f));
	spool_before_add(options.spool);
	spool_close(options.spool);
	lock = xasprintf("%s/lock", dir);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void waits_after_a_refused_hello(void **state)
{
	struct fixture *f = *state;

	assert_true(say(f));
	assert_int_equal(hear_refusal(f), SESSION_REFUSED);
	assert_false(say(f));
	f->now_us += SESSION_HELLO_REFUSED_US;
	greet(f);
}

static void shows_its_token_in_hello_alone(void **state)
{
	struct fixture *f = *state;
	char token[] = "head.body.seal";

	f->token = token;
	add_report(f);
	assert_true(session_hello_is_due(f->session, f->now_us));
	assert_true(say(f));
	assert_int_equal(f->request.hello.role, HELLO_AGENT);
	assert_string_equal(f->request.hello.token, token);
	assert_int_equal(hear_welcome(f), SESSION_WELCOMED);
	assert_false(session_hello_is_due(f->session, f->now_us));
	assert_true(say(f));
	assert_null(memmem(f->sent.data, f->sent.len, token, strlen(token)));
	assert_int_equal(hear_ack(f, (struct ack){ .need_hello = true }),
		SESSION_HELLO_DUE);
	assert_true(session_hello_is_due(f->session, f->now_us));
}

static void a_hello_put_off_is_due_after_ten_seconds(void **state)
{
	struct fixture *f = *state;

	session_put_off_hello(f->session, f->now_us);
	assert_false(session_hello_is_due(f->session, f->now_us + 9999999));
	assert_false(say(f));
	f->now_us += 10000000;
	assert_true(session_hello_is_due(f->session, f->now_us));
	greet(f);
}

static void survives_answers_that_make_no_sense(void **state)
{
	static const char *const texts[] = { "", "\xff", "hello there" };
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(say(f));
		assert_int_equal(
			session_answer(f->session, (const uint8_t *)texts[i],
				strlen(texts[i]), f->now_us, &f->why),
			SESSION_NO_ANSWER);
		assert_true(f->why.text[0] != '\0');
		assert_false(say(f));
		f->now_us += SESSION_NO_ANSWER_US;
	}
	assert_true(say(f));
	assert_int_equal(hear_welcome(f), SESSION_NO_ANSWER);
	assert_int_equal(f->why.code, -EPROTO);
	assert_int_equal(ring_count(f->ring), 1);
}

static void passes_on_the_interval_that_is_wished_for(void **state)
{
	struct fixture *f = *state;

	greet(f);
	add_report(f);
	assert_true(say(f));
	(void)hear_ack(f,
		(struct ack){ .stored = true, .interval_hint_ms = 5000 });
	assert_int_equal(session_interval_hint_ms(f->session), 5000);
	add_report(f);
	assert_true(say(f));
	(void)hear_ack(f, (struct ack){ .stored = true });
	assert_int_equal(session_interval_hint_ms(f->session), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(says_hello_then_what_there_is),
		TEST(an_ack_is_about_the_reports_of_its_batch_only),
		TEST(keeps_what_was_received_only),
		TEST(offers_what_was_received_at_once_when_it_is_in_a_hurry),
		TEST(greets_again_when_asked_and_loses_nothing),
		TEST(offers_a_batch_again_when_no_answer_came),
		TEST(gives_up_a_batch_that_is_refused_three_times),
		TEST(one_bad_report_costs_no_other),
		TEST(an_accepted_batch_ends_the_count_of_refusals),
		TEST(what_an_earlier_boot_left_goes_with_its_run_and_its_age),
		TEST(waits_after_a_refused_hello),
		TEST(shows_its_token_in_hello_alone),
		TEST(a_hello_put_off_is_due_after_ten_seconds),
		TEST(survives_answers_that_make_no_sense),
		TEST(passes_on_the_interval_that_is_wished_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
