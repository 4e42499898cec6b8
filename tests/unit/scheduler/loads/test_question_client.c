#include "scheduler/loads/question_client.h"

#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/loads/fake_aggregator.h"

#include <stdlib.h>
#include <string.h>

/* A minimal aggregator: it keeps the parked request and gathers the answer. */
struct fixture {
	struct fake_aggregator aggregator;
	struct question_client *client;
	struct mq_request *parked;	 /* NULL: none */
	struct question_request request; /* the last one */
	bool is_parked, is_too_old, leads;
	bool was_checked; /* whether it leads */
	size_t refused;
	/* The answer so far. */
	struct buffer answer;
	unsigned status;
	size_t parts;
	bool is_answered, is_unwanted;
	/* The last question. */
	struct question question;
	char body[64];
	struct question_ref ref;
	bool is_asked;
};

static void take_part(struct fixture *f, const struct answer_part *part)
{
	assert_int_equal(part->offset, f->answer.len);
	buffer_append(&f->answer, part->body, part->len);
	f->status = part->status;
	f->parts++;
	f->is_answered = !part->has_more;
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct wire_request asked;

	assert_int_equal(wire_unpack_request(&asked, bytes, len, NULL), 0);
	if (asked.kind == WIRE_ANSWER) {
		take_part(f, &asked.answer);
		wire_pack_answer_ack(&out,
			&(const struct answer_ack){ !f->is_unwanted });
	} else if (f->is_too_old) {
		f->refused++;
		wire_pack_refused(&out, "unknown kind of request", 0);
	} else {
		assert_int_equal(asked.kind, WIRE_QUESTION_REQUEST);
		f->request = asked.question_request;
		f->parked = request;
		f->is_parked = true;
	}
	if (out.len > 0) {
		mq_reply(request, (const uint8_t *)out.data, out.len);
	}
	wire_request_fini(&asked);
}

static bool leads(void *owner)
{
	struct fixture *f = owner;

	f->was_checked = true;
	return f->leads;
}

static void on_ask(void *owner, const struct question *question,
	struct question_ref ref)
{
	struct fixture *f = owner;

	f->question = *question;
	assert_in_range(question->len, 0, sizeof(f->body) - 1);
	memcpy(f->body, question->body, question->len + 1);
	f->ref = ref;
	f->is_asked = true;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->leads = true;
	f->answer = BUFFER_MAX(ANSWER_BODY_MAX);
	fake_aggregator_open(&f->aggregator,
		(struct mq_server_options){ .serve = serve, .owner = f });
	assert_int_equal(
		question_client_new(&f->client, &f->aggregator.loop,
			&(struct aggregators_options){
				.urls = &f->aggregator.urls,
				.credentials = &f->aggregator.credentials },
			NULL),
		0);
	question_client_listen(f->client,
		&(const struct question_listener){ leads, on_ask, f });
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	question_client_close(f->client);
	fake_aggregator_close(&f->aggregator);
	buffer_fini(&f->answer);
	free(f);
	return 0;
}

static void await_parked(struct fixture *f)
{
	run_until(&f->aggregator.loop, &f->is_parked);
	f->is_parked = false;
}

static void give(struct fixture *f, uint64_t id)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	char body[] = "{\"vmName\":\"web\"}";

	wire_pack_question(&out,
		&(const struct question){ .id = id,
			.kind = QUESTION_PLAN,
			.namespace = "shop",
			.is_visible = true,
			.body = body,
			.len = strlen(body) });
	mq_reply(take_ptr(f->parked), (const uint8_t *)out.data, out.len);
}

static void await_question(struct fixture *f, uint64_t id)
{
	f->is_asked = false;
	await_parked(f);
	give(f, id);
	run_until(&f->aggregator.loop, &f->is_asked);
}

static void a_leader_answers_and_parks_on(void **state)
{
	struct fixture *f = *state;

	await_question(f, 5);
	assert_int_equal(f->question.kind, QUESTION_PLAN);
	assert_string_equal(f->question.namespace, "shop");
	assert_true(f->question.is_visible);
	assert_string_equal(f->body, "{\"vmName\":\"web\"}");
	/* The next request says that the question is held. */
	await_parked(f);
	assert_int_equal(f->request.held_count, 1);
	assert_int_equal(f->request.held[0], 5);
	assert_int_equal(f->request.kinds, QUESTION_KINDS);
	question_client_answer(f->client, &f->ref, 404, "no such VM", 10);
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_int_equal(f->status, 404);
	assert_string_equal(f->answer.data, "no such VM");
	/* A second answer is ignored. */
	question_client_answer(f->client, &f->ref, 200, "{}", 2);
	assert_int_equal(f->parts, 1);
}

static void a_long_answer_goes_out_in_parts(void **state)
{
	struct fixture *f = *state;
	size_t len = 2 * (size_t)ANSWER_PART_MAX + 5;
	scoped_free char *body = xcalloc(1, len + 1);

	memset(body, 'x', len);
	await_question(f, 5);
	question_client_answer(f->client, &f->ref, 200, body, len);
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_int_equal(f->parts, 3);
	assert_int_equal(f->answer.len, len);
	assert_memory_equal(f->answer.data, body, len);
}

static void an_answer_that_nobody_wants_ends_with_its_first_part(void **state)
{
	struct fixture *f = *state;
	size_t len = 2 * (size_t)ANSWER_PART_MAX;
	scoped_free char *body = xcalloc(1, len + 1);

	f->is_unwanted = true;
	await_question(f, 5);
	question_client_answer(f->client, &f->ref, 200, body, len);
	await_parked(f);
	while (f->request.held_count > 0) {
		give(f, 0);
		await_parked(f);
	}
	assert_int_equal(f->parts, 1);
}

static void an_answer_that_is_too_long_becomes_a_sentence(void **state)
{
	struct fixture *f = *state;
	scoped_free char *body = xcalloc(1, ANSWER_BODY_MAX + 1);

	await_question(f, 5);
	question_client_answer(f->client, &f->ref, 200, body,
		ANSWER_BODY_MAX + 1);
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_int_equal(f->status, 500);
	assert_string_equal(f->answer.data, "the answer is too long");
}

static void four_questions_are_held_and_no_more(void **state)
{
	struct fixture *f = *state;

	for (uint64_t id = 1; id <= QUESTIONS_HELD_MAX; id++) {
		await_question(f, id);
	}
	assert_null(f->parked);
	question_client_answer(f->client, &f->ref, 200, "{}", 2);
	await_parked(f);
	assert_int_equal(f->request.held_count, QUESTIONS_HELD_MAX - 1);
}

static void a_replica_that_does_not_lead_gives_questions_back(void **state)
{
	struct fixture *f = *state;
	uint64_t term;

	await_question(f, 5);
	term = f->ref.term;
	await_parked(f);
	f->leads = false;
	question_client_answer(f->client, &f->ref, 200, "{}", 2);
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_int_equal(f->status, 503);
	assert_int_equal(f->answer.len, 0);
	/* It takes no question and parks no more, until its next term. */
	f->is_asked = false;
	give(f, 6);
	f->was_checked = false;
	run_until(&f->aggregator.loop, &f->was_checked);
	f->leads = true;
	await_parked(f);
	assert_false(f->is_asked);
	assert_int_equal(f->request.held_count, 0);
	assert_true(f->request.term != 0 && f->request.term != term);
}

static void tell(void *owner, struct rebalance_state *out)
{
	memset(out->why, 'x', sizeof(out->why) - 1);
	memset(out->mode, *(const char *)owner, sizeof(out->mode) - 1);
}

/* The longest texts fit, also beside all questions that can be held. */
static void a_parked_request_tells_the_state_of_moves(void **state)
{
	struct fixture *f = *state;
	char mode[] = "A";

	await_parked(f);
	assert_string_equal(f->request.rebalance.mode, "");
	question_client_tell(f->client,
		&(const struct rebalance_teller){ tell, mode });
	give(f, 1);
	for (uint64_t id = UINT64_MAX; f->request.held_count < 3; id--) {
		await_parked(f);
		assert_string_equal(f->request.rebalance.mode,
			"AAAAAAAAAAAAAAA");
		assert_int_equal(strlen(f->request.rebalance.why),
			REBALANCE_WHY_MAX - 1);
		give(f, id);
	}
}

static void an_aggregator_that_is_too_old_is_left_alone(void **state)
{
	struct fixture *f = *state;

	f->is_too_old = true;
	while (f->refused == 0) {
		(void)uv_run(&f->aggregator.loop, UV_RUN_ONCE);
	}
	/* Some turns of the timer. */
	for (int i = 0; i < 3; i++) {
		(void)uv_run(&f->aggregator.loop, UV_RUN_ONCE);
	}
	assert_int_equal(f->refused, 1);
	f->is_too_old = false;
	fake_clock_move(QUESTION_CLIENT_OLD_US);
	await_parked(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_leader_answers_and_parks_on),
		TEST(a_long_answer_goes_out_in_parts),
		TEST(an_answer_that_nobody_wants_ends_with_its_first_part),
		TEST(an_answer_that_is_too_long_becomes_a_sentence),
		TEST(four_questions_are_held_and_no_more),
		TEST(a_replica_that_does_not_lead_gives_questions_back),
		TEST(a_parked_request_tells_the_state_of_moves),
		TEST(an_aggregator_that_is_too_old_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
