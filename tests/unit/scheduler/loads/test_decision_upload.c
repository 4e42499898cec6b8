#include "scheduler/loads/decision_upload.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"
#include "tests/unit/scheduler/loads/fake_aggregator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of the log about dropped records. */
static struct {
	unsigned lines;
	uint64_t dropped; /* by the last line */
} logged;

bool __wrap_log_allow(struct log_limit *limit, uint64_t now_us,
	uint64_t interval_us, uint64_t *suppressed);
bool __wrap_log_allow(struct log_limit *limit, uint64_t now_us,
	uint64_t interval_us, uint64_t *suppressed)
{
	(void)limit;
	(void)now_us;
	(void)interval_us;
	if (suppressed != NULL) {
		*suppressed = 0;
	}
	return true;
}

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);
void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	(void)level;
	(void)file;
	(void)line;
	(void)message;
	if (fields->key != NULL && strcmp(fields->key, "dropped") == 0) {
		logged.lines++;
		logged.dropped = (uint64_t)fields->number;
	}
}

/* A minimal aggregator on the same event loop. */
struct fixture {
	struct fake_aggregator aggregator;
	struct record_upload *upload;
	size_t batches, taken;
	bool is_strict;	    /* requires Hello first */
	size_t unsaved;	    /* batches that are not stored */
	uint64_t last_wall; /* of the last record */
	uint64_t invalid;   /* a batch with this record is refused; 0: none */
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

static bool is_invalid(const struct fixture *f,
	const struct decision_batch *batch)
{
	for (size_t i = 0; f->invalid != 0 && i < batch->count; i++) {
		if (batch->records[i].wall_us == f->invalid) {
			return true;
		}
	}
	return false;
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
	} else if (is_invalid(f, &asked.decisions)) {
		wire_pack_refused(&out, "invalid", 0);
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

static int open_upload(struct fixture *f, struct record_upload **out)
{
	return decision_upload_new(out, &f->aggregator.loop,
		&(struct aggregators_options){ .urls = &f->aggregator.urls,
			.credentials = &f->aggregator.credentials },
		NULL);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	memset(&logged, 0, sizeof(logged));
	fake_aggregator_open(&f.aggregator,
		(struct mq_server_options){ .serve = serve, .owner = &f });
	assert_int_equal(open_upload(&f, &f.upload), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	record_upload_close(f->upload);
	fake_aggregator_close(&f->aggregator);
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

/* Time passes meanwhile. */
static bool is_taken(void *owner)
{
	const struct fixture *f = owner;

	fake_clock_move(1000);
	return record_upload_pending(f->upload) == 0;
}

/* Waits for the reply to the last batch too: closing a socket of nng 1.5.2
 * while a reply arrives can hang (nanomsg/nng pull request 1636). */
static void run_until_taken(struct fixture *f, size_t count)
{
	run_until_true(&f->aggregator.loop, is_taken, f);
	assert_int_equal(f->taken, count);
}

static void uploads_each_record_once_and_in_order(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 200);
	run_until_taken(f, 200);
	/* 64, 64, 64 and 8. */
	assert_int_equal(f->batches, 4);
	add(f, 201, 202);
	run_until_taken(f, 202);
	assert_int_equal(f->last_wall, 202);
}

static void a_record_waits_for_those_that_follow_soon(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 1);
	(void)uv_run(&f->aggregator.loop, UV_RUN_NOWAIT);
	add(f, 2, 3);
	run_until_taken(f, 3);
	assert_int_equal(f->batches, 1);
}

static void sends_at_once_when_told_to(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 3);
	record_upload_send(f->upload);
	/* The request above is not over yet. */
	add(f, 4, 4);
	record_upload_send(f->upload);
	run_until_taken(f, 4);
	assert_int_equal(f->batches, 2);
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
	assert_int_equal(logged.lines, 0);
}

static void one_refused_record_does_not_hold_back_the_others(void **state)
{
	struct fixture *f = *state;

	f->invalid = 37;
	add(f, 1, 100);
	run_until_taken(f, 99);
	assert_int_equal(f->last_wall, 100);
}

/* And not the batches of others in which it was refused. */
static void a_refused_record_counts_as_dropped(void **state)
{
	struct fixture *f = *state;

	f->invalid = 37;
	add(f, 1, 100);
	run_until_taken(f, 99);
	assert_int_equal(logged.lines, 1);
	assert_int_equal(logged.dropped, 1);
	f->invalid = 101;
	add(f, 101, 102);
	run_until_taken(f, 100);
	assert_int_equal(logged.lines, 2);
	assert_int_equal(logged.dropped, 2);
}

static void drops_the_oldest_records_above_the_limit(void **state)
{
	struct fixture *f = *state;

	/* Nothing is sent until the event loop runs, */
	add(f, 1, RECORD_UPLOAD_MAX + 100);
	/* except for the first batch. */
	run_until_taken(f, RECORD_UPLOAD_MAX + WIRE_DECISIONS_MAX);
	assert_int_equal(f->last_wall, RECORD_UPLOAD_MAX + 100);
	/* Nobody knows yet that the first batch arrives. */
	assert_int_equal(logged.dropped, 100);
}

static void keeps_no_records_without_aggregators(void **state)
{
	struct fixture *f = *state;
	struct record_upload *upload = NULL;
	struct decision_record record = { .pod = "b" };

	f->aggregator.urls.count = 0;
	assert_int_equal(open_upload(f, &upload), 0);
	decision_upload_add(upload, &record);
	record_upload_close(upload);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(uploads_each_record_once_and_in_order),
		test(a_record_waits_for_those_that_follow_soon),
		test(sends_at_once_when_told_to),
		test(sends_hello_if_the_aggregator_asks),
		test(sends_records_again_that_were_not_stored),
		test(one_refused_record_does_not_hold_back_the_others),
		test(a_refused_record_counts_as_dropped),
		test(drops_the_oldest_records_above_the_limit),
		test(keeps_no_records_without_aggregators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
