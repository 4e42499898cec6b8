#include "aggregator/ingest/ingest.h"

#include <signal.h>
#include <sys/resource.h>

#include "aggregator/ingest/long_poll.h"
#include "aggregator/ingest/rate_limit.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "proto/wire.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/aggregator/blocked_writes.h"
#include "tests/unit/aggregator/store/full_slot.h"

static uint64_t shortest_timer_ms, longest_timer_ms;

void __real_timer_start(struct timer *timer, uint64_t ms, uint64_t repeat_ms);
void __wrap_timer_start(struct timer *timer, uint64_t ms, uint64_t repeat_ms);
uint64_t __wrap_commit_interval_us(const struct commit_interval *interval);

/* All timers fire soon, and what they do looks at the clock. */
void __wrap_timer_start(struct timer *timer, uint64_t ms, uint64_t repeat_ms)
{
	shortest_timer_ms = ms < shortest_timer_ms ? ms : shortest_timer_ms;
	longest_timer_ms = ms > longest_timer_ms ? ms : longest_timer_ms;
	__real_timer_start(timer, ms > 0 ? 1 : 0, repeat_ms);
}

/* The store commits at once. */
uint64_t __wrap_commit_interval_us(const struct commit_interval *interval)
{
	(void)interval;
	return 0;
}

struct client {
	struct mq_client *mq;
	struct wire_reply reply; /* the last one */
	bool is_answered, is_bad;
};

/* An ingest with a store on a real socket, and two clients of it. */
struct fixture {
	struct scratch *s;
	struct live *live;
	struct ingest *ingest;
	struct mq_server *server;
	char url[64];
	struct client agent, scheduler;
	uint64_t reports; /* received before */
};

static const struct hello hello = { .node = "n1",
	.version = "test",
	.run_id = { 'a' } };

static void on_answer(void *owner, const uint8_t *bytes, size_t len)
{
	struct client *c = owner;

	wire_reply_fini(&c->reply);
	c->reply = (struct wire_reply){ .kind = WIRE_ACK };
	c->is_bad = bytes == NULL ||
		wire_unpack_reply(&c->reply, bytes, len, NULL) < 0;
	c->is_answered = true;
}

static void reconnect(struct fixture *f, struct client *c)
{
	struct mq_client_options options = { .url = f->url,
		.timeout_ms = PATIENCE_S * UINT64_C(1000),
		.on_reply = on_answer,
		.owner = c };

	mq_client_close(c->mq);
	assert_int_equal(mq_client_new(&c->mq, &f->s->loop, &options, NULL), 0);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *scratch = NULL;

	f->agent.reply.kind = WIRE_ACK;
	f->scheduler.reply.kind = WIRE_ACK;
	assert_int_equal(scratch_setup(&scratch), 0);
	f->s = scratch;
	scratch_open(f->s, UINT64_C(86400000000));
	f->live = live_new(42, NULL);
	f->ingest =
		ingest_new(&f->s->loop, f->live, f->s->store, NULL, NULL, NULL);
	assert_int_equal(
		mq_server_new(&f->server, &f->s->loop,
			&(struct mq_server_options){ .url = "tcp://127.0.0.1:0",
				.contexts = LONG_POLL_MAX + 8,
				.serve = ingest_serve,
				.owner = f->ingest },
			NULL),
		0);
	(void)snprintf(f->url, sizeof(f->url), "tcp://127.0.0.1:%d",
		mq_server_port(f->server));
	reconnect(f, &f->agent);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->s;

	mq_client_close(f->agent.mq);
	mq_client_close(f->scheduler.mq);
	ingest_stop(f->ingest);
	scratch_close(f->s);
	mq_server_close(f->server);
	ingest_close(f->ingest);
	wire_reply_fini(&f->agent.reply);
	wire_reply_fini(&f->scheduler.reply);
	assert_int_equal(scratch_teardown(&scratch), 0);
	live_free(f->live);
	free(f);
	return 0;
}

static void send_bytes(struct client *c, const struct buffer *bytes)
{
	c->is_answered = false;
	mq_client_send(c->mq, (const uint8_t *)bytes->data, bytes->len);
}

static void send_and_wait(struct fixture *f, const struct buffer *bytes)
{
	send_bytes(&f->agent, bytes);
	run_until(&f->s->loop, &f->agent.is_answered);
	assert_false(f->agent.is_bad);
}

static void send_hello(struct fixture *f)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);

	wire_pack_hello(&out, &hello);
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_WELCOME);
}

/* A batch of reports of 1 core with these sequence numbers, sent when the
 * agent's clock shows 200 s; a report was taken at 100 s + seq. */
static void pack_batch(struct buffer *out, const char *node, uint8_t run,
	const uint64_t *seqs, size_t count)
{
	struct buffer bodies[4] = { 0 };
	struct packed_report packed[4];
	const uint8_t run_id[REPORT_RUN_ID_BYTES] = { run };
	struct batch_out batch = { node, run_id, 200000000, packed, count, 0 };

	for (size_t i = 0; i < count; i++) {
		struct report r =
			steady_report(seqs[i], 100 + (double)seqs[i], 1);

		bodies[i] = BUFFER_MAX(10000);
		wire_pack_report(&bodies[i], &r);
		packed[i] =
			(struct packed_report){ (const uint8_t *)bodies[i].data,
				bodies[i].len };
	}
	wire_pack_batch(out, &batch);
	for (size_t i = 0; i < count; i++) {
		buffer_fini(&bodies[i]);
	}
}

static void send_batch(struct fixture *f, const char *node, uint8_t run,
	const uint64_t *seqs, size_t count)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100000);

	pack_batch(&out, node, run, seqs, count);
	send_and_wait(f, &out);
}

static void assert_acknowledged(const struct fixture *f, bool is_stored)
{
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_false(f->agent.reply.ack.need_hello);
	assert_int_equal(f->agent.reply.ack.stored, is_stored);
}

static void store(struct fixture *f, uint8_t run, const uint64_t *seqs,
	size_t count)
{
	send_batch(f, "n1", run, seqs, count);
	assert_acknowledged(f, true);
}

static bool is_received(void *owner)
{
	const struct fixture *f = owner;

	return ingest_counts(f->ingest).reports > f->reports;
}

static bool is_looked_at(void *owner)
{
	(void)owner;
	return shortest_timer_ms == 1;
}

/* The first batch that waits for a blocked disk: it is answered when
 * INGEST_ACK_US have passed, and not before. */
static void send_to_blocked_disk(struct fixture *f, uint8_t run,
	const uint64_t *seqs, size_t count)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100000);
	struct ingest_counts before = ingest_counts(f->ingest);

	pack_batch(&out, "n1", run, seqs, count);
	send_bytes(&f->agent, &out);
	f->reports = before.reports;
	run_until_true(&f->s->loop, is_received, f);
	fake_clock_move(INGEST_ACK_US - 1);
	shortest_timer_ms = UINT64_MAX;
	run_until_true(&f->s->loop, is_looked_at, NULL);
	assert_int_equal(ingest_counts(f->ingest).batches_received,
		before.batches_received);
	fake_clock_move(1);
	run_until(&f->s->loop, &f->agent.is_answered);
	assert_acknowledged(f, false);
}

static void a_batch_is_stored_and_live(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 98, 94, 96 }; /* the newest first */
	struct node_load load;

	send_hello(f);
	store(f, 'a', seqs, 3);
	live_node_load(&load, live_find(f->live, "n1"), clock_monotonic_us());
	assert_true(fabs(load.cpu_used_cores - 1) < 1e-6);
	assert_int_equal(load.age_us, 2000000);
	node_load_fini(&load);
	/* Two intervals of 2 s: the order in the batch does not matter. */
	assert_int_equal(live_revision(f->live), 3);
}

static void an_overdue_batch_is_acknowledged_at_once(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };

	send_hello(f);
	longest_timer_ms = 0;
	/* As for a process that is stopped between two reads. */
	fake_clock.step_us = INGEST_ACK_US + 1;
	send_batch(f, "n1", 'a', seqs, 1);
	fake_clock.step_us = 0;
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_in_range(longest_timer_ms, 0, INGEST_ACK_US / 1000 + 1);
}

static void rejects_a_batch_without_a_hello(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };

	send_batch(f, "n1", 'a', seqs, 1);
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_true(f->agent.reply.ack.need_hello);
	assert_false(f->agent.reply.ack.stored);
	assert_int_equal(live_count(f->live), 0);
	send_hello(f);
	store(f, 'a', seqs, 1);
}

static void a_hello_is_valid_for_its_connection_only(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };

	send_hello(f);
	reconnect(f, &f->agent);
	send_batch(f, "n1", 'a', seqs, 1);
	assert_true(f->agent.reply.ack.need_hello);
}

static void refuses_a_batch_of_another_node(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };

	send_hello(f);
	send_batch(f, "n2", 'a', seqs, 1);
	assert_int_equal(f->agent.reply.kind, WIRE_REFUSED);
	assert_non_null(strstr(f->agent.reply.refused, "'n1'"));
	assert_int_equal(live_count(f->live), 0);
}

static void refuses_a_batch_that_the_store_does_not_accept(void **state)
{
	struct fixture *f = *state;
	uint64_t ms = clock_wall_us() / 1000 - 1000; /* of report 99 */

	send_hello(f);
	store(f, 'a', (const uint64_t[]){ 98 }, 1);
	fill_slot(f->s, 1, ms);
	send_batch(f, "n1", 'a', (const uint64_t[]){ 99 }, 1);
	assert_int_equal(f->agent.reply.kind, WIRE_REFUSED);
	assert_non_null(strstr(f->agent.reply.refused, "reports of one node"));
	assert_string_equal(store_last_error(f->s->store), "");
}

static enum wire_reply_kind second_agent_says_hello(struct fixture *f)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct hello second = hello;

	second.run_id[0] = 'b';
	wire_pack_hello(&out, &second);
	send_bytes(&f->scheduler, &out);
	run_until(&f->s->loop, &f->scheduler.is_answered);
	return f->scheduler.reply.kind;
}

static void the_agent_that_was_silent_too_long_waits_for_the_second(
	void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1, 2 };

	reconnect(f, &f->scheduler);
	send_hello(f);
	send_batch(f, "n1", 'a', seqs, 1);
	assert_int_equal(second_agent_says_hello(f), WIRE_REFUSED);
	fake_clock_move(5000000);
	assert_int_equal(second_agent_says_hello(f), WIRE_WELCOME);
	send_batch(f, "n1", 'a', &seqs[1], 1);
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_true(f->agent.reply.ack.need_hello);
	assert_int_equal(live_revision(f->live), 1);
}

static void reports_of_an_earlier_process_are_only_stored(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 99 };

	send_hello(f);
	store(f, 'z', seqs, 1);
	assert_int_equal(live_count(f->live), 0);
}

/* Such a report would stay the newest until the node's clock reaches it. */
static void refuses_a_report_from_the_future(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 98, 101 };

	send_hello(f);
	send_batch(f, "n1", 'a', seqs, 2);
	assert_int_equal(f->agent.reply.kind, WIRE_REFUSED);
	assert_non_null(strstr(f->agent.reply.refused, "after"));
	store(f, 'a', seqs, 1);
}

static void refuses_broken_bytes_with_a_reason(void **state)
{
	struct fixture *f = *state;
	scoped_buffer struct buffer out = BUFFER_MAX(100);

	buffer_text(&out, "\xff\xff\xff");
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_REFUSED);
	assert_true(f->agent.reply.refused[0] != '\0');
}

static void acknowledges_in_time_with_a_slow_disk(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };
	int lock;

	send_hello(f);
	lock = scratch_block_writes(f->s);
	send_to_blocked_disk(f, 'a', seqs, 1);
	assert_false(f->agent.reply.ack.is_failing);
	assert_int_equal(live_count(f->live), 1);
	(void)close(lock);
	store(f, 'a', seqs, 1);
}

static void says_that_it_cannot_store_on_a_full_disk(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };
	struct rlimit before, full = { 4096, 4096 };

	send_hello(f);
	/* Writes above this file size fail as on a full disk. */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	send_batch(f, "n1", 'a', seqs, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_acknowledged(f, false);
	assert_true(f->agent.reply.ack.is_failing);
	store(f, 'a', seqs, 1);
	assert_false(f->agent.reply.ack.is_failing);
}

/* Otherwise the same batch would be resent forever to a slow disk. */
static void acknowledges_a_resent_batch_that_was_stored_late(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1, 2, 3 };
	int lock;

	send_hello(f);
	lock = scratch_block_writes(f->s);
	send_to_blocked_disk(f, 'a', seqs, 2);
	(void)close(lock);
	/* Commits are in order. */
	store(f, 'a', &seqs[2], 1);
	lock = scratch_block_writes(f->s);
	send_batch(f, "n1", 'a', seqs, 2);
	assert_true(f->agent.reply.ack.stored);
	/* Reports of another run were not stored. */
	send_to_blocked_disk(f, 'b', seqs, 2);
	(void)close(lock);
}

static void stores_nothing_after_a_stop(void **state)
{
	struct fixture *f = *state;
	const uint64_t seqs[] = { 1 };

	send_hello(f);
	ingest_stop(f->ingest);
	send_batch(f, "n1", 'a', seqs, 1);
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_false(f->agent.reply.ack.stored);
}

static void request_snapshot(struct fixture *f, uint64_t epoch, uint64_t rev)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	struct snapshot_request request = { epoch, rev };

	wire_pack_snapshot_request(&out, &request);
	send_bytes(&f->scheduler, &out);
}

/* A full batch of the same report, made at 101 s. */
static void pack_full_batch(struct buffer *out, uint64_t sent_us)
{
	scoped_buffer struct buffer body = BUFFER_MAX(10000);
	struct report r = steady_report(1, 101, 1);
	struct packed_report packed[WIRE_REPORTS_MAX];
	const struct batch_out batch = { "n1", hello.run_id, sent_us, packed,
		WIRE_REPORTS_MAX, 0 };

	wire_pack_report(&body, &r);
	for (size_t i = 0; i < WIRE_REPORTS_MAX; i++) {
		packed[i] = (struct packed_report){ (const uint8_t *)body.data,
			body.len };
	}
	wire_pack_batch(out, &batch);
}

/* The agent keeps what is not stored, and sends it again. */
static void an_agent_that_reports_too_much_waits(void **state)
{
	struct fixture *f = *state;
	scoped_buffer struct buffer bad = BUFFER_MAX(MQ_SEND_MAX);
	scoped_buffer struct buffer good = BUFFER_MAX(MQ_SEND_MAX);
	size_t sent = 0;

	pack_full_batch(&bad, 100000000); /* refused: from the future */
	pack_full_batch(&good, 200000000);
	send_hello(f);
	do {
		send_and_wait(f, &bad);
		sent++;
	} while (f->agent.reply.kind == WIRE_REFUSED);
	assert_int_equal(sent, RATE_LIMIT_REPORTS / WIRE_REPORTS_MAX + 1);
	send_and_wait(f, &good);
	assert_acknowledged(f, false);
	assert_int_equal(live_count(f->live), 0);
	assert_int_equal(ingest_counts(f->ingest).limited, 2);
	fake_clock_move(10 * UINT64_C(1000000));
	send_and_wait(f, &good);
	assert_acknowledged(f, true);
}

static void answers_a_snapshot_request_at_once_or_on_a_change(void **state)
{
	struct fixture *f = *state;
	struct report r = steady_report(1, 100, 1);
	const uint64_t seqs[] = { 1 };
	struct live_sample sample = { "n0", hello.run_id, &r, 0, 0 };
	const struct snapshot *snapshot = &f->scheduler.reply.snapshot;

	assert_int_equal(live_add(f->live, &sample, 0, NULL), 0);
	reconnect(f, &f->scheduler);
	request_snapshot(f, 0, 0);
	run_until(&f->s->loop, &f->scheduler.is_answered);
	assert_int_equal(f->scheduler.reply.kind, WIRE_SNAPSHOT);
	assert_int_equal(snapshot->count, 1);
	assert_true(snapshot->full);
	/* This one waits until a batch changes something. */
	request_snapshot(f, 42, 1);
	send_hello(f);
	assert_false(f->scheduler.is_answered);
	send_batch(f, "n1", 'a', seqs, 1);
	assert_false(f->scheduler.is_answered);
	fake_clock_move(LONG_POLL_COALESCE_US);
	run_until(&f->s->loop, &f->scheduler.is_answered);
	assert_int_equal(f->scheduler.reply.kind, WIRE_SNAPSHOT);
	assert_int_equal(snapshot->count, 1);
	assert_string_equal(snapshot->nodes[0].name, "n1");
	assert_int_equal(snapshot->rev, 2);
	assert_int_equal(ingest_counts(f->ingest).snapshots, 2);
}

/* A scheduler that asks, and those that wait. */
struct crowd {
	struct fixture *f;
	struct client others[LONG_POLL_MAX];
};

static bool is_one_answered(void *owner)
{
	struct crowd *crowd = owner;
	size_t answered = 0;

	if (!mq_client_busy(crowd->f->scheduler.mq)) {
		request_snapshot(crowd->f, 42, 1);
	}
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		answered += crowd->others[i].is_answered;
		assert_int_not_equal(crowd->others[i].reply.kind, WIRE_REFUSED);
	}
	return answered > 0;
}

static void a_scheduler_gets_a_place_when_all_are_taken(void **state)
{
	struct fixture *f = *state;
	struct crowd crowd = { .f = f };
	struct client *others = crowd.others;
	const uint64_t seqs[] = { 1, 2 };

	send_hello(f);
	send_batch(f, "n1", 'a', &seqs[0], 1);
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(100);

		others[i].reply.kind = WIRE_ACK;
		reconnect(f, &others[i]);
		wire_pack_snapshot_request(&out,
			&(struct snapshot_request){ 42, 1 });
		send_bytes(&others[i], &out);
	}
	/* All of them wait, because the longest that waits is answered. */
	reconnect(f, &f->scheduler);
	run_until_true(&f->s->loop, is_one_answered, &crowd);
	send_batch(f, "n1", 'a', &seqs[1], 1);
	fake_clock_move(LONG_POLL_COALESCE_US);
	run_until(&f->s->loop, &f->scheduler.is_answered);
	assert_int_equal(f->scheduler.reply.kind, WIRE_SNAPSHOT);
	for (size_t i = 0; i < LONG_POLL_MAX; i++) {
		mq_client_close(others[i].mq);
		wire_reply_fini(&others[i].reply);
	}
}

static void acknowledges_decisions_when_they_are_stored(void **state)
{
	struct fixture *f = *state;
	struct decision_record record = { .namespace = "a",
		.pod = "b",
		.uid = "c",
		.policy = "p",
		.wall_us = clock_wall_us() };
	scoped_buffer struct buffer packed = BUFFER_MAX(10000);
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	struct packed_record one;

	wire_pack_decision(&packed, &record);
	one = (struct packed_record){ (const uint8_t *)packed.data,
		packed.len };
	wire_pack_decisions(&out, &one, 1);
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_true(f->agent.reply.ack.stored);
}

static void add_move(struct fixture *f, unsigned id)
{
	struct move_record move = { .revision = 1,
		.namespace = "shop",
		.vm = "web-1",
		.source = "n1",
		.wall_us = clock_wall_us() };
	scoped_buffer struct buffer packed = BUFFER_MAX(10000);
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	struct packed_record one;

	(void)snprintf(move.id, sizeof(move.id), "id-%u", id);
	wire_pack_move(&packed, &move);
	one = (struct packed_record){ (const uint8_t *)packed.data,
		packed.len };
	wire_pack_moves(&out, &one, 1);
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_ACK);
	assert_true(f->agent.reply.ack.stored);
}

static const struct move_list *request_moves(struct fixture *f, uint64_t after)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);

	wire_pack_moves_request(&out, &(struct moves_request){ 0, after });
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_MOVE_LIST);
	return &f->agent.reply.moves;
}

static void serves_the_moves_that_it_stored_page_by_page(void **state)
{
	struct fixture *f = *state;
	const struct move_list *list;
	uint64_t next;

	assert_int_equal(request_moves(f, 0)->count, 0);
	for (unsigned i = 0; i < WIRE_MOVES_MAX; i++) {
		add_move(f, i);
	}
	list = request_moves(f, 0);
	assert_int_equal(list->count, WIRE_MOVES_MAX);
	assert_int_equal(list->next, 0);
	add_move(f, WIRE_MOVES_MAX);
	list = request_moves(f, 0);
	assert_int_equal(list->count, WIRE_MOVES_MAX);
	next = list->next;
	assert_int_not_equal(next, 0);
	list = request_moves(f, next);
	assert_int_equal(list->count, 1);
	assert_string_equal(list->records[0].id, "id-64");
	assert_int_equal(list->next, 0);
}

static void refuses_to_list_moves_after_a_stop(void **state)
{
	struct fixture *f = *state;
	scoped_buffer struct buffer out = BUFFER_MAX(100);

	ingest_stop(f->ingest);
	wire_pack_moves_request(&out, &(struct moves_request){ 0, 0 });
	send_and_wait(f, &out);
	assert_int_equal(f->agent.reply.kind, WIRE_REFUSED);
	assert_int_equal(f->agent.reply.retry_ms, 1000);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(acknowledges_decisions_when_they_are_stored),
		test(serves_the_moves_that_it_stored_page_by_page),
		test(refuses_to_list_moves_after_a_stop),
		test(a_batch_is_stored_and_live),
		test(an_overdue_batch_is_acknowledged_at_once),
		test(rejects_a_batch_without_a_hello),
		test(a_hello_is_valid_for_its_connection_only),
		test(refuses_a_batch_of_another_node),
		test(refuses_a_batch_that_the_store_does_not_accept),
		test(the_agent_that_was_silent_too_long_waits_for_the_second),
		test(reports_of_an_earlier_process_are_only_stored),
		test(refuses_a_report_from_the_future),
		test(refuses_broken_bytes_with_a_reason),
		test(acknowledges_in_time_with_a_slow_disk),
		test(says_that_it_cannot_store_on_a_full_disk),
		test(acknowledges_a_resent_batch_that_was_stored_late),
		test(stores_nothing_after_a_stop),
		test(an_agent_that_reports_too_much_waits),
		test(answers_a_snapshot_request_at_once_or_on_a_change),
		test(a_scheduler_gets_a_place_when_all_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
