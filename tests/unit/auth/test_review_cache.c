#include "auth/review_cache.h"

#include "lib/clock.h"
#include "tests/unit/auth/fake_kube.h"

struct heard {
	size_t count;
	int status;
	char body[64], error[64];
};

static uint64_t keep_a_minute(const struct http_response *answer)
{
	return answer->status == 200 ? 60000000 : 0;
}

static void on_heard(void *owner, const struct http_response *answer)
{
	struct heard *heard = owner;

	heard->count++;
	heard->status = answer->status;
	strncpy(heard->body, answer->body, sizeof(heard->body) - 1);
	strncpy(heard->error, answer->error, sizeof(heard->error) - 1);
}

static void ask_at(struct review_cache *review_cache, struct heard *heard,
	const char *body, uint64_t now_us)
{
	review_cache_ask(review_cache,
		&(struct review_cache_question){ .method = "POST",
			.path = "/x",
			.body = body,
			.keep = keep_a_minute,
			.done = on_heard,
			.owner = heard },
		now_us);
}

static void ask(struct review_cache *review_cache, struct heard *heard,
	const char *body)
{
	ask_at(review_cache, heard, body, clock_monotonic_us());
}

static struct review_cache *new_memo(void)
{
	return review_cache_new(kube_client_new(NULL, NULL));
}

static void end(struct review_cache *review_cache)
{
	review_cache_stop(review_cache);
	review_cache_free(review_cache);
}

static void who_asks_the_same_shares_the_request(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard a = { 0 };
	struct heard b = { 0 };
	struct heard c = { 0 };

	(void)state;
	ask(review_cache, &a, "same");
	ask(review_cache, &b, "same");
	ask(review_cache, &c, "other");
	assert_int_equal(fake.sent, 2);
	fake_answer(200, "yes");
	assert_int_equal(a.count, 1);
	assert_int_equal(b.count, 1);
	assert_string_equal(b.body, "yes");
	assert_int_equal(c.count, 0);
	fake_answer(200, "no");
	assert_string_equal(c.body, "no");
	end(review_cache);
}

static void an_answer_is_given_again_until_its_time_is_over(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard a = { 0 };
	uint64_t now_us = clock_monotonic_us();

	(void)state;
	ask(review_cache, &a, "q");
	fake_answer(200, "yes");
	ask_at(review_cache, &a, "q", now_us + 59000000);
	assert_int_equal(fake.sent, 1);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "yes");
	ask_at(review_cache, &a, "q", clock_monotonic_us() + 60000001);
	assert_int_equal(fake.sent, 2);
	assert_int_equal(a.count, 2);
	end(review_cache);
}

static void what_is_not_to_be_kept_is_asked_again(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard a = { 0 };

	(void)state;
	ask(review_cache, &a, "q");
	fake_answer(503, "");
	assert_int_equal(a.status, 503);
	assert_string_equal(a.error, "it says no");
	ask(review_cache, &a, "q");
	assert_int_equal(fake.sent, 2);
	end(review_cache);
}

static void few_run_and_the_rest_waits_in_order(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard heard[REVIEW_CACHE_RUNNING + 3] = { 0 };
	char body[16];

	(void)state;
	for (size_t i = 0; i < count_of(heard); i++) {
		(void)snprintf(body, sizeof(body), "%zu", i);
		ask(review_cache, &heard[i], body);
	}
	assert_int_equal(fake.count, REVIEW_CACHE_RUNNING);
	for (size_t i = 0; i < count_of(heard); i++) {
		fake_answer(200, "yes");
		assert_int_equal(heard[i].count, 1);
	}
	assert_int_equal(fake.sent, count_of(heard));
	assert_int_equal(fake.count, 0);
	end(review_cache);
}

static void a_full_memo_drops_old_answers_but_no_question(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard old = { 0 };
	struct heard many = { 0 };
	struct heard late = { 0 };
	char body[16];

	(void)state;
	ask(review_cache, &old, "old");
	fake_answer(200, "yes");
	for (size_t i = 0; i < REVIEW_CACHE_ENTRIES; i++) {
		(void)snprintf(body, sizeof(body), "%zu", i);
		ask(review_cache, &many, body);
	}
	assert_int_equal(many.count, 0);
	ask(review_cache, &late, "late");
	assert_int_equal(late.status, 0);
	assert_string_equal(late.error, "too many questions are open already");
	/* The same as an open one still shares it. */
	ask(review_cache, &late, "0");
	fake_answer(200, "yes");
	assert_int_equal(late.count, 2);
	end(review_cache);
	assert_int_equal(many.count, REVIEW_CACHE_ENTRIES);
}

static void stopping_answers_everybody(void **state)
{
	struct review_cache *review_cache = new_memo();
	struct heard a = { 0 };

	(void)state;
	ask(review_cache, &a, "q");
	review_cache_stop(review_cache);
	assert_true(fake.is_closed);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.status, 0);
	ask(review_cache, &a, "r");
	assert_int_equal(a.count, 2);
	assert_string_equal(a.error, "shutting down");
	review_cache_free(review_cache);
}

#define test(name) cmocka_unit_test_setup(name, fake_setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(who_asks_the_same_shares_the_request),
		test(an_answer_is_given_again_until_its_time_is_over),
		test(what_is_not_to_be_kept_is_asked_again),
		test(few_run_and_the_rest_waits_in_order),
		test(a_full_memo_drops_old_answers_but_no_question),
		test(stopping_answers_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
