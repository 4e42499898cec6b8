#include "scheduler/loads/decision_upload.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A minimal aggregator on the same event loop. */
struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	struct decision_upload *upload;
	char url[64];
	struct option_list urls;
	struct credentials credentials;
	size_t batches, taken;
	bool is_strict;	    /* requires Hello first */
	size_t unsaved;	    /* batches that are not stored */
	uint64_t last_wall; /* of the last record */
	bool done;
};

static bool takes(struct fixture *f, const struct decision_batch *batch)
{
	if (f->unsaved > 0) {
		f->unsaved--;
		return false;
	}
	for (size_t i = 0; i < batch->count; i++) {
		assert_true(batch->records[i].wall_us > f->last_wall);
		f->last_wall = batch->records[i].wall_us;
	}
	f->taken += batch->count;
	return true;
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct wire_request asked;
	struct ack ack = { 0 };

	assert_int_equal(wire_unpack_request(&asked, bytes, len, NULL), 0);
	if (asked.kind == WIRE_HELLO) {
		f->is_strict = false;
		wire_pack_welcome(&out, "test");
	} else {
		assert_int_equal(asked.kind, WIRE_DECISIONS);
		f->batches++;
		ack.need_hello = f->is_strict;
		ack.stored = !f->is_strict && takes(f, &asked.decisions);
		wire_pack_ack(&out, &ack);
	}
	mq_reply(request, (const uint8_t *)out.data, out.len);
	wire_request_fini(&asked);
}

static int open_upload(struct fixture *f, struct decision_upload **out)
{
	return decision_upload_new(out, &f->loop,
		&(struct aggregators_options){ .urls = &f->urls,
			.credentials = &f->credentials },
		NULL);
}

static int setup(void **state)
{
	static struct fixture f;
	struct mq_server_options options = { .url = "tcp://127.0.0.1:0",
		.contexts = 4,
		.serve = serve,
		.owner = &f };

	f = (struct fixture){ 0 };
	log_setup(LOG_TEXT, LOG_ERROR);
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_int_equal(mq_server_new(&f.server, &f.loop, &options, NULL), 0);
	(void)snprintf(f.url, sizeof(f.url), "tcp://127.0.0.1:%u",
		(unsigned)mq_server_port(f.server));
	f.urls = (struct option_list){ { f.url }, 1 };
	assert_int_equal(open_upload(&f, &f.upload), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	decision_upload_close(f->upload);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

/* Records with the times from, from + 1, ... */
static void add(struct fixture *f, uint64_t from, uint64_t to)
{
	struct decision_record record = { .namespace = "a",
		.pod = "b",
		.uid = "c",
		.policy = "p" };

	for (uint64_t i = from; i <= to; i++) {
		record.wall_us = i;
		decision_upload_add(f->upload, &record);
	}
}

static void poll(uv_timer_t *timer)
{
	struct fixture *f = timer->data;

	f->done = decision_upload_pending(f->upload) == 0;
}

/* Waits for the reply to the last batch too: closing a socket of nng 1.5.2
 * while a reply arrives can hang (nanomsg/nng pull request 1636). */
static void run_until_taken(struct fixture *f, size_t count)
{
	uv_timer_t timer = { 0 };

	f->done = false;
	assert_int_equal(uv_timer_init(&f->loop, &timer), 0);
	timer.data = f;
	assert_int_equal(uv_timer_start(&timer, poll, 1, 1), 0);
	run_until(&f->loop, &f->done);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	assert_int_equal(f->taken, count);
}

static void uploads_each_record_once_and_in_order(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 200);
	run_until_taken(f, 200);
	/* The first record alone, the others after its reply. */
	assert_int_equal(f->batches, 5);
	add(f, 201, 202);
	run_until_taken(f, 202);
	assert_int_equal(f->last_wall, 202);
}

static void sends_hello_if_the_aggregator_asks(void **state)
{
	struct fixture *f = *state;

	f->is_strict = true;
	add(f, 1, 3);
	run_until_taken(f, 3);
}

static void sends_records_again_that_were_not_stored(void **state)
{
	struct fixture *f = *state;

	f->unsaved = 1;
	add(f, 1, 1);
	run_until_taken(f, 1);
	assert_int_equal(f->batches, 2);
}

static void drops_the_oldest_records_above_the_limit(void **state)
{
	struct fixture *f = *state;

	/* Nothing is sent until the event loop runs, */
	add(f, 1, DECISION_UPLOAD_MAX + 100);
	/* except for the first record. */
	run_until_taken(f, DECISION_UPLOAD_MAX + 1);
	assert_int_equal(f->last_wall, DECISION_UPLOAD_MAX + 100);
}

static void keeps_no_records_without_aggregators(void **state)
{
	struct fixture *f = *state;
	struct decision_upload *upload = NULL;
	struct decision_record record = { .pod = "b" };

	f->urls.count = 0;
	assert_int_equal(open_upload(f, &upload), 0);
	decision_upload_add(upload, &record);
	decision_upload_close(upload);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(uploads_each_record_once_and_in_order),
		test(sends_hello_if_the_aggregator_asks),
		test(sends_records_again_that_were_not_stored),
		test(drops_the_oldest_records_above_the_limit),
		test(keeps_no_records_without_aggregators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
