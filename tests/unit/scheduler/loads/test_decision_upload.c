#include "scheduler/loads/decision_upload.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An aggregator of a few lines, in the same loop. */
struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	struct records *records;
	char url[64];
	struct option_list urls;
	struct dial_config dial;
	size_t batches, taken;
	bool is_strict;	    /* wants to hear Hello first */
	size_t unsaved;	    /* batches it cannot store */
	uint64_t last_wall; /* of the record that came last */
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
	assert_int_equal(
		records_new(&f.records, &f.loop, &f.urls, &f.dial, NULL), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	records_close(f->records);
	mq_server_close(f->server);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

/* Records that were made at 1, 2, 3... */
static void add(struct fixture *f, uint64_t from, uint64_t to)
{
	struct decision_record record = { .namespace = "a",
		.pod = "b",
		.uid = "c",
		.policy = "p" };

	for (uint64_t i = from; i <= to; i++) {
		record.wall_us = i;
		records_add(f->records, &record);
	}
}

static void look(uv_timer_t *timer)
{
	struct fixture *f = timer->data;

	f->done = records_waiting(f->records) == 0;
}

/* Until the answer to the last is there, too: closing nng 1.5.2's socket while
 * one arrives can hang (nanomsg/nng pull request 1636). */
static void run_until_taken(struct fixture *f, size_t count)
{
	uv_timer_t timer = { 0 };

	f->done = false;
	assert_int_equal(uv_timer_init(&f->loop, &timer), 0);
	timer.data = f;
	assert_int_equal(uv_timer_start(&timer, look, 1, 1), 0);
	run_until(&f->loop, &f->done);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	assert_int_equal(f->taken, count);
}

static void each_arrives_once_and_in_order(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 200);
	run_until_taken(f, 200);
	/* The first alone, the others while it was under way. */
	assert_int_equal(f->batches, 5);
	add(f, 201, 202);
	run_until_taken(f, 202);
	assert_int_equal(f->last_wall, 202);
}

static void says_who_it_is_where_that_is_asked(void **state)
{
	struct fixture *f = *state;

	f->is_strict = true;
	add(f, 1, 3);
	run_until_taken(f, 3);
}

static void what_was_not_stored_comes_again(void **state)
{
	struct fixture *f = *state;

	f->unsaved = 1;
	add(f, 1, 1);
	run_until_taken(f, 1);
	assert_int_equal(f->batches, 2);
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
	struct fixture *f = *state;

	/* While the loop does not run nothing is sent. */
	add(f, 1, RECORDS_MAX + 100);
	/* But for the first, which was under way already. */
	run_until_taken(f, RECORDS_MAX + 1);
	assert_int_equal(f->last_wall, RECORDS_MAX + 100);
}

static void with_nobody_to_keep_them_there_are_none(void **state)
{
	struct fixture *f = *state;
	static const struct option_list none;
	struct records *records = NULL;
	struct decision_record record = { .pod = "b" };

	assert_int_equal(records_new(&records, &f->loop, &none, &f->dial, NULL),
		0);
	records_add(records, &record);
	records_close(records);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(each_arrives_once_and_in_order),
		test(says_who_it_is_where_that_is_asked),
		test(what_was_not_stored_comes_again),
		test(the_oldest_go_when_there_are_too_many),
		test(with_nobody_to_keep_them_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
