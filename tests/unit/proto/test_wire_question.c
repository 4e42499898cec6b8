/* Questions and answers on the wire: every field there and back, and every
 * refusal. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <plimsoll.pb-c.h>
#include <string.h>

enum { BYTES_MAX = 4 << 20 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

static int take_request(struct wire_request *out, const struct buffer *bytes,
	struct error *err)
{
	assert_false(bytes->overflowed);
	return wire_unpack_request(out, bytes_of(bytes), bytes->len, err);
}

static int take_reply(struct wire_reply *out, const struct buffer *bytes,
	struct error *err)
{
	assert_false(bytes->overflowed);
	return wire_unpack_reply(out, bytes_of(bytes), bytes->len, err);
}

static void a_parked_request_names_the_term_and_what_is_held(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_request back;

	(void)state;
	wire_pack_question_request(&bytes,
		&(const struct question_request){ .term = 77,
			.held = { 5, UINT64_MAX },
			.held_count = 2,
			.rebalance = { "Automatic",
				"no move saves more than its price" } });
	assert_int_equal(take_request(&back, &bytes, NULL), 0);
	assert_int_equal(back.kind, WIRE_QUESTION_REQUEST);
	assert_int_equal(back.question_request.term, 77);
	assert_int_equal(back.question_request.held_count, 2);
	assert_int_equal(back.question_request.held[0], 5);
	assert_true(back.question_request.held[1] == UINT64_MAX);
	assert_string_equal(back.question_request.rebalance.mode, "Automatic");
	assert_string_equal(back.question_request.rebalance.why,
		"no move saves more than its price");
	wire_request_fini(&back);
}

/* As from a scheduler that is older than the two texts. */
static void a_parked_request_may_tell_nothing_of_moves(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_request back;

	(void)state;
	wire_pack_question_request(&bytes,
		&(const struct question_request){ .term = 77 });
	assert_int_equal(bytes.len, 4); /* the envelope and the term */
	assert_int_equal(take_request(&back, &bytes, NULL), 0);
	assert_string_equal(back.question_request.rebalance.mode, "");
	assert_string_equal(back.question_request.rebalance.why, "");
	wire_request_fini(&back);
}

static void texts_about_moves_are_cut_and_made_printable(void **state)
{
	Plimsoll__Request envelope = PLIMSOLL__REQUEST__INIT;
	Plimsoll__QuestionRequest wire = PLIMSOLL__QUESTION_REQUEST__INIT;
	char mode[] = "\x1b[2J\nAutomatic and more";
	char why[2 * REBALANCE_WHY_MAX] = "\xc3\x28";
	uint8_t bytes[4 * REBALANCE_WHY_MAX];
	struct rebalance_state *rebalance;
	struct wire_request back;

	(void)state;
	memset(why + 2, 'x', sizeof(why) - 3);
	envelope.kind_case = PLIMSOLL__REQUEST__KIND_QUESTION_REQUEST;
	envelope.question_request = &wire;
	wire.has_term = true;
	wire.term = 1;
	wire.rebalance_mode = mode;
	wire.rebalance_why = why;
	assert_int_equal(
		wire_unpack_request(&back, bytes,
			plimsoll__request__pack(&envelope, bytes), NULL),
		0);
	rebalance = &back.question_request.rebalance;
	assert_string_equal(rebalance->mode, "?[2J?Automatic ");
	assert_int_equal(strlen(rebalance->why), REBALANCE_WHY_MAX - 1);
	assert_memory_equal(rebalance->why, "?(xx", 4);
	wire_request_fini(&back);
}

static void a_question_comes_as_it_was_sent(void **state)
{
	/* A NUL in the body is a byte as any other. */
	char body[] = "{\"a\":1}\0x";
	const struct question sent = { .id = 9,
		.kind = QUESTION_PLAN,
		.namespace = "shop",
		.is_visible = true,
		.body = body,
		.len = sizeof(body) - 1 };
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_reply back;

	(void)state;
	wire_pack_question(&bytes, &sent);
	assert_int_equal(take_reply(&back, &bytes, NULL), 0);
	assert_int_equal(back.kind, WIRE_QUESTION);
	assert_int_equal(back.question.id, 9);
	assert_int_equal(back.question.kind, QUESTION_PLAN);
	assert_string_equal(back.question.namespace, "shop");
	assert_true(back.question.is_visible);
	assert_int_equal(back.question.len, sent.len);
	assert_memory_equal(back.question.body, body, sizeof(body));
	wire_reply_fini(&back);
}

static void an_empty_question_has_nothing_but_its_kind(void **state)
{
	const struct question none = { .id = 0, .namespace = "shop" };
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_reply back;

	(void)state;
	wire_pack_question(&bytes, &none);
	assert_int_equal(bytes.len, 2);
	assert_int_equal(take_reply(&back, &bytes, NULL), 0);
	assert_int_equal(back.question.id, 0);
	assert_null(back.question.body);
	wire_reply_fini(&back);
}

static void outlooks_and_reaches_need_no_namespace(void **state)
{
	static const bool needs[QUESTION_KINDS] = {
		[QUESTION_PLACEMENT] = true,
		[QUESTION_PLAN] = true,
	};
	char body[] = "{}";

	(void)state;
	for (int kind = 0; kind < QUESTION_KINDS; kind++) {
		const struct question question = { .id = 9,
			.kind = (enum question_kind)kind,
			.body = body,
			.len = 2 };
		scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
		struct wire_reply back;

		wire_pack_question(&bytes, &question);
		if (needs[kind]) {
			assert_int_equal(take_reply(&back, &bytes, NULL),
				-EBADMSG);
			continue;
		}
		assert_int_equal(take_reply(&back, &bytes, NULL), 0);
		assert_int_equal(back.question.kind, kind);
		assert_string_equal(back.question.namespace, "");
		wire_reply_fini(&back);
	}
}

static void a_scheduler_says_which_questions_it_answers(void **state)
{
	(void)state;
	for (uint32_t kinds = 0; kinds < 5; kinds++) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
		struct wire_request back;
		uint32_t read;

		wire_pack_question_request(&bytes,
			&(const struct question_request){ .term = 1,
				.kinds = kinds });
		assert_int_equal(take_request(&back, &bytes, NULL), 0);
		read = back.question_request.kinds;
		assert_int_equal(read, kinds);
		assert_int_equal(question_kinds_have(read, QUESTION_OUTLOOK),
			kinds > 2);
		wire_request_fini(&back);
	}
	/* It does not say: it is of the first version. */
	assert_true(question_kinds_have(0, QUESTION_PLAN));
}

static void a_part_of_an_answer_comes_as_it_was_sent(void **state)
{
	char body[] = "{\"found\":true}";
	const struct answer_part sent = { .id = 9,
		.term = 77,
		.status = 200,
		.offset = 1000,
		.has_more = true,
		.body = body,
		.len = sizeof(body) - 1 };
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_request back;

	(void)state;
	wire_pack_answer(&bytes, &sent);
	assert_int_equal(take_request(&back, &bytes, NULL), 0);
	assert_int_equal(back.kind, WIRE_ANSWER);
	assert_int_equal(back.answer.id, 9);
	assert_int_equal(back.answer.term, 77);
	assert_int_equal(back.answer.status, 200);
	assert_int_equal(back.answer.offset, 1000);
	assert_true(back.answer.has_more);
	assert_int_equal(back.answer.len, sent.len);
	assert_string_equal(back.answer.body, body);
	wire_request_fini(&back);
}

static void an_ack_says_whether_the_answer_is_wanted(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
		struct wire_reply back;

		wire_pack_answer_ack(&bytes,
			&(const struct answer_ack){ .is_wanted = i == 1 });
		assert_int_equal(take_reply(&back, &bytes, NULL), 0);
		assert_int_equal(back.kind, WIRE_ANSWER_ACK);
		assert_int_equal(back.answer_ack.is_wanted, i == 1);
		wire_reply_fini(&back);
	}
}

/* ---- refusals ---- */

static void refuses_a_request_without_a_term_or_with_too_many(void **state)
{
	Plimsoll__Request envelope = PLIMSOLL__REQUEST__INIT;
	Plimsoll__QuestionRequest wire = PLIMSOLL__QUESTION_REQUEST__INIT;
	uint64_t held[QUESTIONS_HELD_MAX + 1] = { 1 };
	uint8_t bytes[256];
	struct wire_request back;
	struct error err;

	(void)state;
	envelope.kind_case = PLIMSOLL__REQUEST__KIND_QUESTION_REQUEST;
	envelope.question_request = &wire;
	assert_int_equal(
		wire_unpack_request(&back, bytes,
			plimsoll__request__pack(&envelope, bytes), &err),
		-EBADMSG);
	assert_string_equal(err.text, "term is 0");
	wire.has_term = true;
	wire.term = 1;
	wire.held = held;
	wire.n_held = count_of(held);
	assert_int_equal(
		wire_unpack_request(&back, bytes,
			plimsoll__request__pack(&envelope, bytes), &err),
		-EBADMSG);
	assert_string_equal(err.text, "5 questions are too many");
}

static void assert_question_refused(const struct question *question,
	const char *why)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_reply back;
	struct error err;

	wire_pack_question(&bytes, question);
	assert_int_equal(take_reply(&back, &bytes, &err), -EBADMSG);
	assert_string_equal(err.text, why);
}

static void refuses_a_question_out_of_its_bounds(void **state)
{
	scoped_free char *body = xcalloc(1, QUESTION_BODY_MAX + 1);
	struct question question = { .id = 1,
		.kind = QUESTION_KINDS,
		.namespace = "shop",
		.body = body };

	(void)state;
	assert_question_refused(&question, "kind has the unknown value 4");
	question.kind = QUESTION_PLACEMENT;
	question.len = QUESTION_BODY_MAX + 1;
	assert_question_refused(&question,
		"body has 262145 bytes, not up to 262144");
	question.len = 0;
	*question.namespace = '\0';
	assert_question_refused(&question,
		"namespace has 0 bytes, not 1 to 253");
}

static void assert_answer_refused(const struct answer_part *answer,
	const char *why)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_request back;
	struct error err;

	wire_pack_answer(&bytes, answer);
	assert_int_equal(take_request(&back, &bytes, &err), -EBADMSG);
	assert_string_equal(err.text, why);
}

static void refuses_an_answer_out_of_its_bounds(void **state)
{
	scoped_free char *body = xcalloc(1, ANSWER_PART_MAX + 1);
	struct answer_part answer = { .id = 1,
		.term = 1,
		.status = 199,
		.body = body };

	(void)state;
	assert_answer_refused(&answer, "status 199 is none of HTTP");
	answer.status = 600;
	assert_answer_refused(&answer, "status 600 is none of HTTP");
	answer.status = 200;
	answer.offset = ANSWER_BODY_MAX;
	answer.len = 1;
	assert_answer_refused(&answer,
		"the answer is larger than 2097152 bytes");
	answer.offset = UINT32_MAX;
	assert_answer_refused(&answer,
		"the answer is larger than 2097152 bytes");
	answer.offset = 0;
	answer.len = ANSWER_PART_MAX + 1;
	assert_answer_refused(&answer,
		"body has 524289 bytes, not up to 524288");
	answer.len = 0;
	answer.term = 0;
	assert_answer_refused(&answer, "term is 0");
	answer.id = 0;
	assert_answer_refused(&answer, "id is 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_parked_request_names_the_term_and_what_is_held),
		cmocka_unit_test(a_parked_request_may_tell_nothing_of_moves),
		cmocka_unit_test(texts_about_moves_are_cut_and_made_printable),
		cmocka_unit_test(a_question_comes_as_it_was_sent),
		cmocka_unit_test(an_empty_question_has_nothing_but_its_kind),
		cmocka_unit_test(outlooks_and_reaches_need_no_namespace),
		cmocka_unit_test(a_scheduler_says_which_questions_it_answers),
		cmocka_unit_test(a_part_of_an_answer_comes_as_it_was_sent),
		cmocka_unit_test(an_ack_says_whether_the_answer_is_wanted),
		cmocka_unit_test(
			refuses_a_request_without_a_term_or_with_too_many),
		cmocka_unit_test(refuses_a_question_out_of_its_bounds),
		cmocka_unit_test(refuses_an_answer_out_of_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
