/* Questions over real connections: the rules are in test_question_book.c. */
#include "aggregator/ingest/questions.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1 << 20 };

/* A scheduler's connection. */
struct peer {
	struct mq_client *mq;
	struct wire_reply reply; /* the last one */
	bool is_answered;
};

struct fixture {
	uv_loop_t loop;
	struct questions *questions;
	struct mq_server *server;
	char url[64];
	struct peer peers[2];
	/* The last call of on_done(). */
	bool is_told;
	unsigned status;
	char *body;
};

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	struct wire_request message;

	assert_int_equal(wire_unpack_request(&message, bytes, len, NULL), 0);
	questions_serve(f->questions, request, &message);
	wire_request_fini(&message);
}

static void on_reply(void *owner, const uint8_t *bytes, size_t len)
{
	struct peer *peer = owner;

	assert_non_null(bytes);
	wire_reply_fini(&peer->reply);
	assert_int_equal(wire_unpack_reply(&peer->reply, bytes, len, NULL), 0);
	peer->is_answered = true;
}

static void connect_peer(struct fixture *f, size_t n)
{
	struct peer *peer = &f->peers[n];

	peer->reply.kind = WIRE_ACK;
	assert_int_equal(
		mq_client_new(&peer->mq, &f->loop,
			&(struct mq_client_options){ .url = f->url,
				.timeout_ms = PATIENCE_S * UINT64_C(1000),
				.on_reply = on_reply,
				.owner = peer },
			NULL),
		0);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	assert_int_equal(uv_loop_init(&f->loop), 0);
	f->questions = questions_new(&f->loop);
	assert_int_equal(
		mq_server_new(&f->server, &f->loop,
			&(struct mq_server_options){ .url = "tcp://127.0.0.1:0",
				.contexts = 8,
				.serve = serve,
				.owner = f },
			NULL),
		0);
	(void)snprintf(f->url, sizeof(f->url), "tcp://127.0.0.1:%d",
		mq_server_port(f->server));
	connect_peer(f, 0);
	connect_peer(f, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(f->peers); i++) {
		mq_client_close(f->peers[i].mq);
		wire_reply_fini(&f->peers[i].reply);
	}
	mq_server_close(f->server);
	questions_free(f->questions);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	free(f->body);
	free(f);
	return 0;
}

static void on_done(void *owner, unsigned status, const char *body, size_t len)
{
	struct fixture *f = owner;

	assert_int_equal(strlen(body), len);
	f->is_told = true;
	f->status = status;
	free(f->body);
	f->body = xstrdup(body);
}

static void ask(struct fixture *f)
{
	const struct asked asked = { .kind = QUESTION_PLACEMENT,
		.namespace = "shop",
		.body = "{\"vmName\":\"web\"}",
		.len = 16,
		.peer = "ann" };

	assert_int_equal(questions_ask(f->questions, &asked, on_done, f, NULL),
		0);
	assert_false(f->is_told);
}

static void send_bytes(struct peer *peer, const struct buffer *bytes)
{
	peer->is_answered = false;
	mq_client_send(peer->mq, (const uint8_t *)bytes->data, bytes->len);
}

/* Until the aggregator knows it. */
static void park(struct fixture *f, size_t n, uint64_t term)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MESSAGE_MAX);

	wire_pack_question_request(&out,
		&(const struct question_request){ .term = term,
			.rebalance = { "Automatic", "it is night" } });
	send_bytes(&f->peers[n], &out);
	while (!questions_has_leader(f->questions)) {
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	}
}

static const struct question *await_question(struct fixture *f, size_t n)
{
	struct peer *peer = &f->peers[n];

	run_until(&f->loop, &peer->is_answered);
	assert_int_equal(peer->reply.kind, WIRE_QUESTION);
	return &peer->reply.question;
}

/* Returns whether more of the answer is wanted. */
static bool send_part(struct fixture *f, const struct answer_part *part)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MESSAGE_MAX);
	struct peer *peer = &f->peers[0];

	wire_pack_answer(&out, part);
	send_bytes(peer, &out);
	run_until(&f->loop, &peer->is_answered);
	assert_int_equal(peer->reply.kind, WIRE_ANSWER_ACK);
	return peer->reply.answer_ack.is_wanted;
}

static void the_asker_gets_what_the_parked_scheduler_answers(void **state)
{
	struct fixture *f = *state;
	char first[] = "{\"chosen\":", second[] = "\"node-1\"}";
	struct answer_part part = { .term = 7,
		.status = 200,
		.has_more = true,
		.body = first,
		.len = strlen(first) };

	park(f, 0, 7);
	ask(f);
	part.id = await_question(f, 0)->id;
	assert_int_not_equal(part.id, 0);
	assert_int_equal(f->peers[0].reply.question.kind, QUESTION_PLACEMENT);
	assert_string_equal(f->peers[0].reply.question.namespace, "shop");
	assert_false(f->peers[0].reply.question.is_visible);
	assert_string_equal(f->peers[0].reply.question.body,
		"{\"vmName\":\"web\"}");
	assert_true(send_part(f, &part));
	assert_false(f->is_told);
	part.offset = (uint32_t)part.len;
	part.has_more = false;
	part.body = second;
	part.len = strlen(second);
	assert_true(send_part(f, &part));
	assert_true(f->is_told);
	assert_int_equal(f->status, 200);
	assert_string_equal(f->body, "{\"chosen\":\"node-1\"}");
	/* Nobody waits for a second answer. */
	assert_false(send_part(f, &part));
}

static void a_parked_scheduler_has_told_what_it_does(void **state)
{
	struct fixture *f = *state;
	const struct rebalance_state *told;

	assert_null(questions_rebalance(f->questions));
	park(f, 0, 7);
	told = questions_rebalance(f->questions);
	assert_string_equal(told->mode, "Automatic");
	assert_string_equal(told->why, "it is night");
}

static void without_a_scheduler_nobody_can_ask(void **state)
{
	struct fixture *f = *state;
	const struct asked asked = { .kind = QUESTION_PLAN,
		.namespace = "shop",
		.body = "{}",
		.len = 2,
		.peer = "ann" };
	struct error err;

	assert_false(questions_has_leader(f->questions));
	assert_int_equal(questions_ask(f->questions, &asked, on_done, f, &err),
		-EHOSTUNREACH);
	assert_false(f->is_told);
}

/* The next leader parks, after the first had the question and ended. */
static void the_next_leader_answers_what_the_first_left(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	park(f, 0, 7);
	ask(f);
	id = await_question(f, 0)->id;
	mq_client_close(take_ptr(f->peers[0].mq));
	park(f, 1, 7); /* the same term, which does not hold the question */
	assert_int_equal(await_question(f, 1)->id, id);
}

static void a_cancelled_question_is_told_to_nobody(void **state)
{
	struct fixture *f = *state;
	char body[] = "{}";
	struct answer_part answer = { .term = 7,
		.status = 200,
		.body = body,
		.len = 2 };

	park(f, 0, 7);
	ask(f);
	answer.id = await_question(f, 0)->id;
	questions_cancel(f->questions, f);
	assert_false(send_part(f, &answer));
	assert_false(f->is_told);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_asker_gets_what_the_parked_scheduler_answers),
		TEST(a_parked_scheduler_has_told_what_it_does),
		TEST(without_a_scheduler_nobody_can_ask),
		TEST(the_next_leader_answers_what_the_first_left),
		TEST(a_cancelled_question_is_told_to_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
