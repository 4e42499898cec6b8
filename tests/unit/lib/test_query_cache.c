#include "lib/query_cache.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES_MAX = 3, RUNNING_MAX = 2, STARTED_MAX = 16 };

static struct {
	struct query_cache *cache;
	struct query *started[STARTED_MAX];
	size_t starts, ends, frees;
	bool is_immediate; /* start() settles at once */
} world;

struct caller {
	int calls;
	char answer[16], why[64];
	const char *asks_next; /* when it is called */
};

static void settle(struct query *query, uint64_t keep_us, uint64_t now_us)
{
	query_settle(query,
		xasprintf("<%s>", (const char *)query_question(query)), keep_us,
		now_us);
}

static void start(void *owner, struct query *query)
{
	assert_ptr_equal(owner, &world);
	assert_true(world.starts < STARTED_MAX);
	world.started[world.starts++] = query;
	if (world.is_immediate) {
		settle(query, 100, 0);
	}
}

static void ended(void *owner, struct query *query)
{
	(void)owner;
	(void)query;
	world.ends++;
}

static void free_answer(void *answer)
{
	world.frees++;
	free(answer);
}

static void ask(struct caller *caller, const char *question, uint64_t now_us);

static void on_done(void *owner, const void *answer, const char *why)
{
	struct caller *caller = owner;
	const char *next = take_ptr(caller->asks_next);

	caller->calls++;
	(void)snprintf(caller->answer, sizeof(caller->answer), "%s",
		answer == NULL ? "" : (const char *)answer);
	(void)snprintf(caller->why, sizeof(caller->why), "%s", why);
	if (next != NULL) {
		ask(caller, next, 1);
	}
}

static void ask(struct caller *caller, const char *question, uint64_t now_us)
{
	query_cache_ask(world.cache, question, strlen(question) + 1, on_done,
		caller, now_us);
}

static struct query *find(const char *question, uint64_t now_us)
{
	return query_cache_find(world.cache, question, strlen(question) + 1,
		now_us);
}

static int open_cache(void **state, uint64_t timeout_us)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.cache = query_cache_new(
		&(const struct query_cache_options){ .queries_max = QUERIES_MAX,
			.running_max = RUNNING_MAX,
			.timeout_us = timeout_us,
			.start = start,
			.ended = ended,
			.free_answer = free_answer,
			.owner = &world });
	return 0;
}

static int setup(void **state)
{
	return open_cache(state, 0);
}

static int setup_with_timeout(void **state)
{
	return open_cache(state, 50);
}

static int teardown(void **state)
{
	(void)state;
	query_cache_free(world.cache);
	return 0;
}

static void callers_share_a_query_and_its_answer(void **state)
{
	struct caller a = { 0 };
	struct caller b = { 0 };
	struct caller later = { 0 };

	(void)state;
	ask(&a, "x", 1);
	ask(&b, "x", 2);
	assert_int_equal(world.starts, 1);
	assert_null(query_answer(world.started[0]));
	settle(world.started[0], 100, 10);
	assert_int_equal(a.calls, 1);
	assert_string_equal(b.answer, "<x>");
	assert_string_equal(b.why, "");
	ask(&later, "x", 109);
	assert_int_equal(world.starts, 1);
	assert_string_equal(later.answer, "<x>");
	assert_non_null(query_answer(find("x", 109)));
	assert_null(find("x", 110));
	ask(&later, "x", 110);
	assert_int_equal(world.starts, 2);
	assert_int_equal(world.frees, 1);
	query_cache_stop(world.cache); /* the callers end here */
}

static void different_bytes_are_different_questions(void **state)
{
	struct caller a = { 0 };

	(void)state;
	ask(&a, "x", 1);
	ask(&a, "xy", 1);
	query_cache_ask(world.cache, "x", 1, on_done, &a, 1);
	assert_int_equal(world.starts, RUNNING_MAX);
	settle(world.started[0], 0, 1);
	assert_int_equal(world.starts, 3);
	query_cache_stop(world.cache); /* the callers end here */
}

static void an_answer_kept_for_no_time_is_given_once(void **state)
{
	struct caller a = { 0 };

	(void)state;
	ask(&a, "x", 1);
	settle(world.started[0], 0, 1);
	assert_string_equal(a.answer, "<x>");
	assert_int_equal(world.frees, 1);
	assert_null(find("x", 1));
	query_cache_stop(world.cache); /* the callers end here */
}

static void queries_wait_in_order_while_others_run(void **state)
{
	struct caller a = { 0 };

	(void)state;
	ask(&a, "1", 1);
	ask(&a, "2", 1);
	ask(&a, "3", 1);
	assert_int_equal(world.starts, 2);
	settle(world.started[0], 100, 1);
	assert_int_equal(world.starts, 3);
	assert_string_equal(query_question(world.started[2]), "3");
	assert_int_equal(query_asked_us(world.started[2]), 1);
	query_cache_stop(world.cache); /* the callers end here */
}

static void a_full_cache_drops_the_oldest_answer_only(void **state)
{
	struct caller a = { 0 };
	struct caller last = { 0 };

	(void)state;
	world.is_immediate = true;
	ask(&a, "1", 1);
	ask(&a, "2", 1);
	ask(&a, "3", 1);
	ask(&a, "4", 1);
	assert_null(find("1", 1));
	assert_non_null(find("2", 1));
	world.is_immediate = false;
	ask(&a, "5", 1);
	ask(&a, "6", 1);
	ask(&a, "7", 1);
	ask(&last, "8", 1);
	assert_int_equal(last.calls, 1);
	assert_string_equal(last.why, "too many questions are open already");
	query_cache_stop(world.cache); /* the callers end here */
}

static void a_caller_may_ask_again_while_it_is_told(void **state)
{
	struct caller same = { .asks_next = "x" };
	struct caller other = { .asks_next = "y" };

	(void)state;
	ask(&same, "x", 1);
	ask(&other, "x", 1);
	settle(world.started[0], 0, 1);
	assert_int_equal(same.calls, 2);
	assert_string_equal(same.answer, "<x>");
	assert_int_equal(other.calls, 1);
	assert_string_equal(query_question(world.started[1]), "y");
	query_cache_stop(world.cache); /* the callers end here */
}

static void a_query_times_out(void **state)
{
	struct caller a = { .asks_next = "x" };

	(void)state;
	ask(&a, "x", 1);
	query_set_data(world.started[0], &world);
	assert_ptr_equal(query_data(world.started[0]), &world);
	query_cache_expire(world.cache, 50);
	assert_int_equal(a.calls, 0);
	assert_null(find("x", 51));
	query_cache_expire(world.cache, 51);
	assert_int_equal(a.calls,
		2); /* it asked again, and was told the same */
	assert_string_equal(a.why, "no answer in time");
	assert_int_equal(world.ends, 1);
	query_cache_stop(world.cache); /* the callers end here */
}

static void a_stopped_cache_answers_nobody(void **state)
{
	struct caller running = { 0 };
	struct caller waiting = { 0 };
	struct caller later = { 0 };

	(void)state;
	ask(&running, "1", 1);
	ask(&running, "2", 1);
	ask(&waiting, "3", 1);
	query_cache_stop(world.cache);
	ask(&later, "4", 1);
	assert_int_equal(running.calls, 2);
	assert_int_equal(waiting.calls, 1);
	assert_string_equal(later.why, "shutting down");
	assert_int_equal(world.starts, 2);
	assert_int_equal(world.ends, 2);
	query_cache_stop(world.cache); /* the callers end here */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(callers_share_a_query_and_its_answer),
		TEST(different_bytes_are_different_questions),
		TEST(an_answer_kept_for_no_time_is_given_once),
		TEST(queries_wait_in_order_while_others_run),
		TEST(a_full_cache_drops_the_oldest_answer_only),
		TEST(a_caller_may_ask_again_while_it_is_told),
		cmocka_unit_test_setup_teardown(a_query_times_out,
			setup_with_timeout, teardown),
		TEST(a_stopped_cache_answers_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
