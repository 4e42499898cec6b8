#include "agent/report_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/mq/mq.h"
#include "tests/support/cm.h"

static const uint8_t run_id[REPORT_RUN_ID_BYTES] = { 9 };

/* A synthetic aggregator in the same event loop. */
struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	char url[64];
	struct ring *ring;
	struct report_client *report_client;
	const char *token_file;
	char token[64]; /* of the last Hello */
	size_t hellos, batches, reports;
	bool requests_hello; /* requests Hello once */
};

static void reply_to(struct fixture *f, const struct wire_request *request,
	struct buffer *out)
{
	struct ack ack = { .stored = true };

	if (request->kind == WIRE_HELLO) {
		f->hellos++;
		(void)snprintf(f->token, sizeof(f->token), "%s",
			request->hello.token == NULL ? ""
						     : request->hello.token);
		wire_pack_welcome(out, "test");
		return;
	}
	f->batches++;
	ack.need_hello = f->requests_hello;
	f->requests_hello = false;
	if (!ack.need_hello) {
		f->reports += request->batch.count;
	}
	ack.interval_hint_ms = 3000;
	wire_pack_ack(out, &ack);
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	struct wire_request wire;
	struct buffer out = BUFFER_MAX(4096);

	assert_int_equal(wire_unpack_request(&wire, bytes, len, NULL), 0);
	reply_to(f, &wire, &out);
	wire_request_fini(&wire);
	mq_reply(request, (const uint8_t *)out.data, out.len);
	buffer_fini(&out);
}

static void add_report(struct fixture *f)
{
	struct buffer bytes = BUFFER_MAX(4096);
	struct report report;

	report_init(&report);
	report.seq = ring_next_seq(f->ring);
	report.monotonic_us = 1;
	report.wall_us = 1;
	report.interval_ms = 2000;
	report.dropped = 0;
	wire_pack_report(&bytes, &report);
	ring_add(f->ring, (const uint8_t *)bytes.data, bytes.len);
	buffer_fini(&bytes);
	report_fini(&report);
}

static void open_server(struct fixture *f, const char *url)
{
	assert_int_equal(mq_server_new(&f->server, &f->loop,
				 &(struct mq_server_options){ .url = url,
					 .contexts = 4,
					 .serve = serve,
					 .owner = f },
				 NULL),
		0);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .ring = ring_new(10, 1 << 20, 1) };
	log_setup(LOG_TEXT, LOG_ERROR);
	assert_int_equal(uv_loop_init(&f.loop), 0);
	open_server(&f, "tcp://127.0.0.1:0");
	(void)snprintf(f.url, sizeof(f.url), "tcp://127.0.0.1:%u",
		(unsigned)mq_server_port(f.server));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	report_client_close(f->report_client);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	ring_free(f->ring);
	return 0;
}

static void open_uplink(struct fixture *f)
{
	const struct report_client_options options = {
		.url = f->url,
		.token_file = f->token_file,
		.delivery = { .node = "node-1",
			.run_id = run_id,
			.version = "1.0",
			.ring = f->ring },
	};

	assert_int_equal(
		report_client_new(&f->report_client, &f->loop, &options, NULL),
		0);
}

static bool is_stored(void *owner)
{
	const struct fixture *f = owner;

	return ring_count(f->ring) == 0;
}

static void run_until_stored(struct fixture *f)
{
	run_until_true(&f->loop, is_stored, f);
}

static void delivers_reports_made_before_the_connection(void **state)
{
	struct fixture *f = *state;

	add_report(f);
	add_report(f);
	open_uplink(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	assert_int_equal(f->hellos, 1);
	assert_int_equal(f->batches, 1);
	assert_int_equal(f->reports, 2);
	assert_true(report_client_drain(f->report_client));
	assert_int_equal(report_client_interval_hint_ms(f->report_client),
		3000);
}

static void sends_again_after_the_aggregator_requests_hello(void **state)
{
	struct fixture *f = *state;

	f->requests_hello = true;
	add_report(f);
	open_uplink(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	assert_int_equal(f->hellos, 2);
	assert_int_equal(f->reports, 1);
}

static void write_token(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void reads_the_token_for_each_hello(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/plimsoll-token-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)close(fd);
	write_token(path, "first\n");
	f->token_file = path;
	add_report(f);
	open_uplink(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	assert_string_equal(f->token, "first");
	write_token(path, "second\n");
	f->requests_hello = true;
	add_report(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	assert_int_equal(f->hellos, 2);
	assert_string_equal(f->token, "second");
	assert_int_equal(unlink(path), 0);
}

static void sends_one_batch_at_a_time(void **state)
{
	struct fixture *f = *state;

	open_uplink(f);
	add_report(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	assert_int_equal(f->batches, 1);
	for (int i = 0; i < 5; i++) {
		add_report(f);
		report_client_wake(f->report_client);
		assert_false(report_client_drain(f->report_client));
	}
	run_until_stored(f);
	/* The first of the five alone; the rest after its reply. */
	assert_int_equal(f->batches, 3);
	assert_int_equal(f->reports, 6);
}

static bool is_undelivering(void *owner)
{
	const struct fixture *f = owner;

	return !report_client_is_delivering(f->report_client);
}

static void drains_what_a_connection_that_was_just_lost_left(void **state)
{
	struct fixture *f = *state;

	open_uplink(f);
	add_report(f);
	report_client_wake(f->report_client);
	run_until_stored(f);
	mq_server_close(f->server);
	add_report(f);
	run_until_true(&f->loop, is_undelivering, f);
	assert_false(report_client_drain(f->report_client));
	open_server(f, f->url);
	run_until_stored(f);
	assert_int_equal(f->reports, 2);
	assert_true(report_client_drain(f->report_client));
}

static void rejects_an_invalid_address(void **state)
{
	struct fixture *f = *state;
	const struct report_client_options options = { .url = "http://x",
		.delivery = { .ring = f->ring } };
	struct error err = { 0 };

	assert_true(report_client_new(&f->report_client, &f->loop, &options,
			    &err) < 0);
	assert_true(err.text[0] != '\0');
	assert_null(f->report_client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(delivers_reports_made_before_the_connection),
		TEST(sends_again_after_the_aggregator_requests_hello),
		TEST(reads_the_token_for_each_hello),
		TEST(sends_one_batch_at_a_time),
		TEST(drains_what_a_connection_that_was_just_lost_left),
		TEST(rejects_an_invalid_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
