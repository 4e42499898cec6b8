#include "aggregator/ingest/question_book.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000)

/* Handles of requests; 'x' marks one whose connection has ended. */
static char handles[16];

static bool is_gone(const void *handle)
{
	return *(const char *)handle == 'x';
}

struct told {
	unsigned times, status;
};

static void on_done(void *owner, unsigned status, const char *body, size_t len)
{
	struct told *told = owner;

	(void)body;
	(void)len;
	told->times++;
	told->status = status;
}

static int setup(void **state)
{
	struct question_book *book = xcalloc(1, sizeof(*book));

	memset(handles, 0, sizeof(handles));
	question_book_init(book, 100, is_gone);
	*state = book;
	return 0;
}

static int teardown(void **state)
{
	question_book_fini(*state);
	free(*state);
	return 0;
}

static int ask_as(struct question_book *book, const char *peer,
	struct told *told, uint64_t now_us, struct error *err)
{
	const struct asked asked = { .kind = QUESTION_PLAN,
		.namespace = "shop",
		.is_visible = true,
		.body = "{}",
		.len = 2,
		.peer = peer };

	return question_book_ask(book, &asked, on_done, told, now_us, err);
}

static void ask(struct question_book *book, struct told *told, uint64_t now_us)
{
	assert_int_equal(ask_as(book, "ann", told, now_us, NULL), 0);
}

/* The request at handles[n], of a term, from a connection of its own; it holds
 * the question of this id, unless it is 0. */
static bool park(struct question_book *book, size_t n, uint64_t term,
	uint64_t held, uint64_t now_us)
{
	const struct waiting_request waiting = { &handles[n],
		{ .term = term, .held = { held }, .held_count = held != 0 },
		now_us, (uint32_t)n };
	struct waiting_request displaced;

	return question_book_wait(book, &waiting, now_us, &displaced);
}

/* The next request to answer is handles[n]; returns the question's id. */
static uint64_t given(struct question_book *book, size_t n, uint64_t now_us)
{
	struct waiting_request waiting;
	struct question question;

	assert_true(question_book_next(book, now_us, &waiting, &question));
	assert_ptr_equal(waiting.handle, &handles[n]);
	return question.id;
}

static void assert_none_given(struct question_book *book, uint64_t now_us)
{
	struct waiting_request waiting;
	struct question question;

	assert_false(question_book_next(book, now_us, &waiting, &question));
}

/* True: the part ended the question, which gets told. */
static bool answer(struct question_book *book, struct answer_part part,
	const char *body, bool *is_wanted)
{
	scoped_free char *copy = xstrdup(body);
	struct ended_question ended;
	bool is_ended;

	part.body = copy;
	part.len = strlen(body);
	is_ended = question_book_answer(book, &part, 0, &ended, is_wanted);
	if (is_ended) {
		ended.done(ended.owner, ended.status, ended.body.data,
			ended.body.len);
		buffer_fini(&ended.body);
	}
	return is_ended;
}

/* ---- asking ---- */

static void without_a_leader_nobody_can_ask(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct error err;

	assert_int_equal(ask_as(book, "ann", &told, 0, &err), -EHOSTUNREACH);
	assert_string_equal(err.text,
		"no scheduler leads now; ask again in a few seconds");
	assert_false(question_book_has_leader(book, 0));
	assert_false(park(book, 0, 1, 0, 0));
	assert_true(question_book_has_leader(book, 0));
	assert_int_equal(given(book, 0, QUESTION_HOLD_US), 0);
	assert_true(question_book_has_leader(book,
		QUESTION_HOLD_US + QUESTION_LEADER_US - 1));
	assert_int_equal(ask_as(book, "ann", &told,
				 QUESTION_HOLD_US + QUESTION_LEADER_US, &err),
		-EHOSTUNREACH);
}

static void a_parked_request_whose_connection_ended_is_no_leader(void **state)
{
	struct question_book *book = *state;

	assert_false(park(book, 0, 1, 0, 0));
	assert_true(question_book_has_leader(book, 8 * SECOND));
	handles[0] = 'x';
	assert_false(question_book_has_leader(book, 8 * SECOND));
	/* It gets no question, and its end is no sign of life. */
	assert_int_equal(given(book, 0, 8 * SECOND), 0);
	assert_false(question_book_has_leader(book, 8 * SECOND));
}

static int ask_reserved(struct question_book *book, const char *peer,
	struct told *told, struct error *err)
{
	const struct asked asked = { .kind = QUESTION_PLAN,
		.namespace = "shop",
		.is_visible = true,
		.body = "{}",
		.len = 2,
		.peer = peer,
		.is_reserved = true };

	return question_book_ask(book, &asked, on_done, told, 0, err);
}

static void a_peer_has_four_questions_and_all_have_thirty_two(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct error err;
	char peer[] = "a";

	assert_false(park(book, 0, 1, 0, 0));
	for (int i = 0; i < QUESTIONS_OPEN_MAX - QUESTIONS_RESERVE; i++) {
		*peer = (char)('a' + i / QUESTIONS_PEER_MAX);
		assert_int_equal(ask_as(book, peer, &told, 0, NULL), 0);
	}
	assert_int_equal(ask_as(book, peer, &told, 0, &err), -EUSERS);
	assert_non_null(strstr(err.text, "4 questions of this user"));
	assert_int_equal(ask_as(book, "other", &told, 0, &err), -EBUSY);
	assert_non_null(strstr(err.text, "24 questions are open"));
	for (int i = 0; i < QUESTIONS_RESERVE; i++) {
		*peer = (char)('A' + i / QUESTIONS_PEER_MAX);
		assert_int_equal(ask_reserved(book, peer, &told, NULL), 0);
	}
	assert_int_equal(ask_reserved(book, "other", &told, &err), -EBUSY);
	assert_non_null(strstr(err.text, "32 questions are open"));
	question_book_cancel(book, &told);
	assert_int_equal(book->count, 0);
	assert_int_equal(ask_as(book, "other", &told, 0, NULL), 0);
}

static void a_spec_that_is_too_long_is_refused(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct asked asked = { .namespace = "shop",
		.body = "",
		.len = QUESTION_BODY_MAX + 1,
		.peer = "ann" };

	assert_false(park(book, 0, 1, 0, 0));
	assert_int_equal(
		question_book_ask(book, &asked, on_done, &told, 0, NULL),
		-EMSGSIZE);
	asked.len = 0;
	asked.namespace = "";
	assert_int_equal(
		question_book_ask(book, &asked, on_done, &told, 0, NULL),
		-EINVAL);
	assert_int_equal(book->count, 0);
}

/* ---- giving ---- */

static void a_question_goes_to_the_parked_request_once(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };

	assert_false(park(book, 0, 1, 0, 0));
	assert_none_given(book, 0);
	ask(book, &told, 0);
	ask(book, &told, 0);
	assert_int_equal(question_book_wait_us(book, 0), 0);
	assert_int_equal(given(book, 0, 0), 100);
	assert_none_given(book, 0);
	/* It parks again while it works on the first. */
	assert_false(park(book, 0, 1, 100, 1));
	assert_int_equal(given(book, 0, 1), 101);
	assert_false(park(book, 0, 1, 100, 2));
}

static void a_request_without_a_question_ends_after_ten_seconds(void **state)
{
	struct question_book *book = *state;

	assert_false(park(book, 0, 1, 0, 5));
	assert_int_equal(question_book_wait_us(book, 5), QUESTION_HOLD_US);
	assert_none_given(book, 5 + QUESTION_HOLD_US - 1);
	assert_int_equal(given(book, 0, 5 + QUESTION_HOLD_US), 0);
	assert_int_equal(question_book_wait_us(book, 0), UINT64_MAX);
}

static void a_term_that_parks_again_replaces_its_request(void **state)
{
	struct question_book *book = *state;

	assert_false(park(book, 0, 1, 0, 0));
	assert_true(park(book, 1, 1, 0, 0));
	assert_false(park(book, 2, 2, 0, 0));
	assert_true(park(book, 2, 3, 0, 0)); /* the same connection */
	assert_int_equal(book->waiting_count, 2);
	for (size_t i = 3; i < 3 + QUESTIONS_WAITING_MAX - 2; i++) {
		assert_false(park(book, i, i + 1, 0, 0));
	}
	assert_true(park(book, 12, 99, 0, 0)); /* all places are taken */
	assert_int_equal(book->waiting_count, QUESTIONS_WAITING_MAX);
	assert_ptr_equal(book->waiting[0].handle, &handles[2]);
}

static void a_question_that_was_lost_on_the_way_is_given_again(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_int_equal(given(book, 0, 0), 100);
	assert_false(park(book, 1, 1, 0, 1));
	assert_int_equal(given(book, 1, 1), 100);
	/* This time it holds the question. */
	assert_false(park(book, 1, 1, 100, 2));
	assert_none_given(book, 2);
}

static void a_leader_that_died_leaves_its_question_to_the_next(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_int_equal(given(book, 0, 0), 100);
	assert_false(park(book, 1, 2, 0, SECOND));
	assert_none_given(book, QUESTION_LOST_US - 1);
	assert_int_equal(question_book_wait_us(book, SECOND),
		QUESTION_LOST_US - SECOND);
	assert_int_equal(given(book, 1, QUESTION_LOST_US), 100);
}

static void a_question_that_is_given_back_is_free(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	bool is_wanted = true;

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_int_equal(given(book, 0, 0), 100);
	assert_false(answer(book,
		(struct answer_part){ .id = 100, .term = 1, .status = 503 }, "",
		&is_wanted));
	assert_false(is_wanted);
	assert_false(park(book, 1, 2, 0, 0));
	assert_int_equal(given(book, 1, 0), 100);
	/* The first has no say in it any more. */
	assert_false(answer(book,
		(struct answer_part){ .id = 100, .term = 1, .status = 503 }, "",
		&is_wanted));
	assert_int_equal(book->open[0].holder, 2);
}

/* The term 1 parks again, and holds what it was given. */
static void park_again(struct question_book *book)
{
	struct waiting_request waiting = { &handles[0], { .term = 1 }, 0, 0 };
	struct waiting_request displaced;

	for (size_t i = 0; i < book->count; i++) {
		if (book->open[i].holder == 1) {
			waiting.request.held[waiting.request.held_count++] =
				book->open[i].question.id;
		}
	}
	assert_false(question_book_wait(book, &waiting, 0, &displaced));
}

static void a_scheduler_keeps_a_place_for_reserved_questions(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	bool is_wanted;

	assert_false(park(book, 0, 1, 0, 0));
	for (int i = 0; i < QUESTIONS_HELD_MAX; i++) {
		ask(book, &told, 0);
	}
	for (uint64_t id = 100; id < 100 + QUESTIONS_HELD_MAX - 1; id++) {
		assert_int_equal(given(book, 0, 0), id);
		park_again(book);
	}
	assert_none_given(book, 0);
	assert_true(question_book_wait_us(book, 0) > 0);
	assert_int_equal(ask_reserved(book, "adm", &told, NULL), 0);
	assert_int_equal(given(book, 0, 0), 104);
	park_again(book);
	/* An answer makes room, but for no more of the others. */
	assert_true(answer(book,
		(struct answer_part){ .id = 104, .term = 1, .status = 200 },
		"a", &is_wanted));
	assert_none_given(book, 0);
	assert_true(answer(book,
		(struct answer_part){ .id = 100, .term = 1, .status = 200 },
		"a", &is_wanted));
	assert_int_equal(given(book, 0, 0), 103);
}

static void reserved_questions_go_first(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_int_equal(ask_reserved(book, "adm", &told, NULL), 0);
	assert_int_equal(ask_reserved(book, "adm", &told, NULL), 0);
	assert_int_equal(given(book, 0, 0), 101);
}

/* A scheduler of an earlier version could not read it. */
static void an_outlook_is_given_to_nobody_who_does_not_know_it(void **state)
{
	struct question_book *book = *state;
	const struct asked outlook = { .kind = QUESTION_OUTLOOK,
		.namespace = "",
		.is_visible = true,
		.body = "{}",
		.len = 2,
		.peer = "ann" };
	struct waiting_request newer = { &handles[1],
		{ .term = 2, .kinds = QUESTION_KINDS }, 0, 1 };
	struct waiting_request displaced;
	struct told told = { 0 };
	struct error err;

	assert_false(park(book, 0, 1, 0, 0));
	assert_int_equal(
		question_book_ask(book, &outlook, on_done, &told, 0, &err),
		-EHOSTUNREACH);
	assert_string_equal(err.text,
		"the scheduler that leads is too old to answer this");
	/* The next leader knows it, and the older one parks after it. */
	assert_false(question_book_wait(book, &newer, 0, &displaced));
	assert_int_equal(
		question_book_ask(book, &outlook, on_done, &told, 0, NULL), 0);
	handles[1] = 'x';
	assert_int_equal(given(book, 1, 0), 0);
	assert_true(park(book, 0, 1, 0, SECOND));
	assert_none_given(book, SECOND);
	assert_int_equal(question_book_wait_us(book, SECOND), QUESTION_HOLD_US);
	/* It still gets the questions that it knows. */
	ask(book, &told, SECOND);
	assert_int_equal(given(book, 0, SECOND), 101);
	newer.handle = &handles[2];
	assert_false(question_book_wait(book, &newer, SECOND, &displaced));
	assert_int_equal(given(book, 2, SECOND), 100);
}

/* ---- what the leader tells ---- */

static void park_with(struct question_book *book, size_t n, const char *mode,
	const char *why, uint64_t now_us)
{
	struct waiting_request waiting = { &handles[n], { .term = n + 1 },
		now_us, (uint32_t)n };
	struct waiting_request displaced;

	(void)snprintf(waiting.request.rebalance.mode, REBALANCE_MODE_MAX, "%s",
		mode);
	(void)snprintf(waiting.request.rebalance.why, REBALANCE_WHY_MAX, "%s",
		why);
	(void)question_book_wait(book, &waiting, now_us, &displaced);
}

static void the_newest_request_says_what_is_done_about_hot_nodes(void **state)
{
	struct question_book *book = *state;
	const struct rebalance_state *told;

	assert_null(question_book_rebalance(book, 0));
	park_with(book, 0, "Automatic", "the caches are not synced", 0);
	park_with(book, 0, "Automatic", "", 1);
	told = question_book_rebalance(book, 1);
	assert_string_equal(told->mode, "Automatic");
	assert_string_equal(told->why, "");
	/* It holds after the request was answered. */
	assert_int_equal(given(book, 0, 1 + QUESTION_HOLD_US), 0);
	told = question_book_rebalance(book, 2 + QUESTION_HOLD_US);
	assert_string_equal(told->mode, "Automatic");
	/* The next leader has another flag. */
	park_with(book, 1, "Recommend", "--rebalance is recommend", SECOND);
	told = question_book_rebalance(book, SECOND);
	assert_string_equal(told->mode, "Recommend");
	assert_string_equal(told->why, "--rebalance is recommend");
	/* One that is older does not tell. */
	assert_false(park(book, 2, 3, 0, SECOND));
	assert_null(question_book_rebalance(book, SECOND));
}

static void what_a_leader_told_is_forgotten_with_it(void **state)
{
	struct question_book *book = *state;

	park_with(book, 0, "Off", "--rebalance is off", 0);
	assert_non_null(question_book_rebalance(book, 8 * SECOND));
	handles[0] = 'x';
	assert_null(question_book_rebalance(book, 8 * SECOND));
}

/* ---- answers ---- */

static void an_answer_in_parts_ends_the_question_once(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct answer_part part = { .id = 100,
		.term = 1,
		.status = 200,
		.has_more = true };
	bool is_wanted = false;

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_false(answer(book, part, "{\"a\":", &is_wanted));
	assert_true(is_wanted);
	assert_string_equal(book->open[0].answer.data, "{\"a\":");
	/* The ack of this part is lost, so it comes again. */
	part.offset = 5;
	assert_false(answer(book, part, "1", &is_wanted));
	assert_false(answer(book, part, "1", &is_wanted));
	assert_true(is_wanted);
	assert_string_equal(book->open[0].answer.data, "{\"a\":1");
	part.offset = 6;
	part.has_more = false;
	assert_true(answer(book, part, "}", &is_wanted));
	assert_int_equal(told.times, 1);
	assert_int_equal(told.status, 200);
	assert_int_equal(book->count, 0);
	/* It is not known any more. */
	assert_false(answer(book, part, "1}", &is_wanted));
	assert_false(is_wanted);
	assert_int_equal(told.times, 1);
}

static void parts_that_do_not_fit_together_are_no_answer(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct answer_part first = { .id = 100,
		.term = 1,
		.status = 200,
		.has_more = true };
	struct answer_part wrong = { .id = 100,
		.term = 2,
		.status = 200,
		.offset = 3 };
	bool is_wanted = true;

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	assert_false(answer(book, first, "abc", &is_wanted));
	assert_false(answer(book, wrong, "def", &is_wanted));
	assert_false(is_wanted);
	wrong.term = 1;
	wrong.offset = 4;
	assert_false(answer(book, wrong, "def", &is_wanted));
	assert_false(is_wanted);
	/* Another scheduler begins again. */
	first.term = 2;
	first.has_more = false;
	assert_true(answer(book, first, "xyz", &is_wanted));
	assert_true(is_wanted);
	assert_int_equal(told.times, 1);
}

static void an_unanswered_question_ends_with_503(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	struct ended_question ended;

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 7);
	assert_int_equal(given(book, 0, 7), 100);
	assert_int_equal(question_book_wait_us(book, 7), QUESTION_DEADLINE_US);
	assert_false(question_book_expire(book, 7 + QUESTION_DEADLINE_US - 1,
		&ended));
	assert_true(
		question_book_expire(book, 7 + QUESTION_DEADLINE_US, &ended));
	assert_int_equal(ended.status, 503);
	assert_ptr_equal(ended.owner, &told);
	assert_string_equal(ended.body.data,
		"no scheduler leads now; ask again in a few seconds");
	buffer_fini(&ended.body);
	/* With a scheduler that still parks the words are others. */
	assert_false(park(book, 0, 1, 0, 20 * SECOND));
	ask(book, &told, 20 * SECOND);
	assert_int_equal(given(book, 0, 20 * SECOND), 101);
	assert_false(park(book, 0, 1, 101, 34 * SECOND));
	assert_true(question_book_expire(book, 35 * SECOND, &ended));
	assert_string_equal(ended.body.data,
		"the scheduler did not answer in time; ask again later");
	buffer_fini(&ended.body);
}

static void the_time_before_it_was_open_counts(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 };
	const struct asked early = { .kind = QUESTION_PLAN,
		.namespace = "shop",
		.is_visible = true,
		.body = "{}",
		.len = 2,
		.peer = "jim",
		.since_us = 2 * SECOND };
	struct ended_question ended;

	assert_false(park(book, 0, 1, 0, 9 * SECOND));
	ask(book, &told, 9 * SECOND);
	assert_int_equal(question_book_ask(book, &early, on_done, &told,
				 9 * SECOND, NULL),
		0);
	assert_int_equal(given(book, 0, 9 * SECOND), 100);
	assert_int_equal(question_book_wait_us(book, 9 * SECOND), 8 * SECOND);
	assert_false(question_book_expire(book, 17 * SECOND - 1, &ended));
	assert_true(question_book_expire(book, 17 * SECOND, &ended));
	assert_int_equal(book->count, 1);
	assert_int_equal(book->open[0].question.id, 100);
	buffer_fini(&ended.body);
}

static void an_owner_that_left_is_not_told(void **state)
{
	struct question_book *book = *state;
	struct told told = { 0 }, other = { 0 };
	bool is_wanted = true;

	assert_false(park(book, 0, 1, 0, 0));
	ask(book, &told, 0);
	ask(book, &other, 0);
	question_book_cancel(book, &told);
	assert_int_equal(book->count, 1);
	assert_false(answer(book,
		(struct answer_part){ .id = 100, .term = 1, .status = 200 },
		"a", &is_wanted));
	assert_false(is_wanted);
	assert_int_equal(given(book, 0, 0), 101);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_leader_nobody_can_ask),
		TEST(a_parked_request_whose_connection_ended_is_no_leader),
		TEST(a_peer_has_four_questions_and_all_have_thirty_two),
		TEST(a_spec_that_is_too_long_is_refused),
		TEST(a_question_goes_to_the_parked_request_once),
		TEST(a_request_without_a_question_ends_after_ten_seconds),
		TEST(a_term_that_parks_again_replaces_its_request),
		TEST(a_question_that_was_lost_on_the_way_is_given_again),
		TEST(a_leader_that_died_leaves_its_question_to_the_next),
		TEST(a_question_that_is_given_back_is_free),
		TEST(a_scheduler_keeps_a_place_for_reserved_questions),
		TEST(reserved_questions_go_first),
		TEST(an_outlook_is_given_to_nobody_who_does_not_know_it),
		TEST(the_newest_request_says_what_is_done_about_hot_nodes),
		TEST(what_a_leader_told_is_forgotten_with_it),
		TEST(an_answer_in_parts_ends_the_question_once),
		TEST(parts_that_do_not_fit_together_are_no_answer),
		TEST(an_unanswered_question_ends_with_503),
		TEST(the_time_before_it_was_open_counts),
		TEST(an_owner_that_left_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
