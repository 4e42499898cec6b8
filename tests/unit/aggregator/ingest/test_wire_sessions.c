#include "aggregator/ingest/wire_sessions.h"

#include "tests/support/cm.h"

#include <stdio.h>

static struct hello hello_of(const char *node)
{
	struct hello hello = { .run_id = { 1 } };

	(void)snprintf(hello.node, sizeof(hello.node), "%s", node);
	return hello;
}

static void knows_who_greeted_last_on_a_pipe(void **state)
{
	struct greeted *greeted = greeted_new();
	struct hello a = hello_of("a");
	struct hello b = hello_of("b");

	(void)state;
	assert_null(greeted_find(greeted, 7, 0));
	assert_null(greeted_find(greeted, 0, 0));
	greeted_put(greeted, 7, &a, UINT64_MAX);
	greeted_put(greeted, 8, &b, UINT64_MAX);
	assert_string_equal(greeted_find(greeted, 7, 0)->node, "a");
	assert_string_equal(greeted_find(greeted, 8, 0)->node, "b");
	greeted_put(greeted, 7, &b, UINT64_MAX);
	assert_string_equal(greeted_find(greeted, 7, 0)->node, "b");
	greeted_free(greeted);
}

static void a_newcomer_takes_the_place_of_the_oldest_only(void **state)
{
	struct greeted *greeted = greeted_new();
	struct hello a = hello_of("a");
	struct hello b = hello_of("b");

	(void)state;
	greeted_put(greeted, 7, &a, UINT64_MAX);
	greeted_put(greeted, 8, &a, UINT64_MAX);
	greeted_put(greeted, 7 + GREETED_MAX, &b, UINT64_MAX);
	assert_null(greeted_find(greeted, 7, 0));
	assert_string_equal(greeted_find(greeted, 8, 0)->node, "a");
	assert_string_equal(greeted_find(greeted, 7 + GREETED_MAX, 0)->node,
		"b");
	greeted_free(greeted);
}

static void what_was_proved_ends_and_can_be_extended_for_a_while(void **state)
{
	struct greeted *greeted = greeted_new();
	struct hello a = hello_of("a");
	struct hello other = hello_of("a");

	(void)state;
	greeted_put(greeted, 7, &a, 100);
	assert_non_null(greeted_find(greeted, 7, 99));
	assert_null(greeted_find(greeted, 7, 100));
	assert_true(greeted_extend(greeted, 7, &a, 100, 200));
	assert_non_null(greeted_find(greeted, 7, 199));
	assert_null(greeted_find(greeted, 7, 200));
	/* Never beyond the grace, whatever is asked for. */
	assert_true(greeted_extend(greeted, 7, &a, 100 + GREETED_GRACE_US,
		UINT64_MAX));
	assert_null(greeted_find(greeted, 7, 100 + GREETED_GRACE_US));
	assert_false(greeted_extend(greeted, 7, &a, 101 + GREETED_GRACE_US,
		UINT64_MAX));
	/* Not for anybody else. */
	greeted_put(greeted, 7, &a, 100);
	assert_false(greeted_extend(greeted, 8, &a, 100, 200));
	other.run_id[0] = 2;
	assert_false(greeted_extend(greeted, 7, &other, 100, 200));
	other = hello_of("b");
	assert_false(greeted_extend(greeted, 7, &other, 100, 200));
	other = hello_of("a");
	other.role = HELLO_SCHEDULER;
	assert_false(greeted_extend(greeted, 7, &other, 100, 200));
	greeted_free(greeted);
}

static void no_token_is_kept(void **state)
{
	struct greeted *greeted = greeted_new();
	struct hello a = hello_of("a");
	char token[] = "secret";

	(void)state;
	a.token = token;
	greeted_put(greeted, 7, &a, UINT64_MAX);
	assert_null(greeted_find(greeted, 7, 0)->token);
	greeted_free(greeted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_who_greeted_last_on_a_pipe),
		cmocka_unit_test(a_newcomer_takes_the_place_of_the_oldest_only),
		cmocka_unit_test(
			what_was_proved_ends_and_can_be_extended_for_a_while),
		cmocka_unit_test(no_token_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
