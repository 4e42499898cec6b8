#include "aggregator/greeted.h"

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
	assert_null(greeted_find(greeted, 7));
	assert_null(greeted_find(greeted, 0));
	greeted_put(greeted, 7, &a);
	greeted_put(greeted, 8, &b);
	assert_string_equal(greeted_find(greeted, 7)->node, "a");
	assert_string_equal(greeted_find(greeted, 8)->node, "b");
	greeted_put(greeted, 7, &b);
	assert_string_equal(greeted_find(greeted, 7)->node, "b");
	greeted_free(greeted);
}

static void a_newcomer_takes_the_place_of_the_oldest_only(void **state)
{
	struct greeted *greeted = greeted_new();
	struct hello a = hello_of("a");
	struct hello b = hello_of("b");

	(void)state;
	greeted_put(greeted, 7, &a);
	greeted_put(greeted, 8, &a);
	greeted_put(greeted, 7 + GREETED_MAX, &b);
	assert_null(greeted_find(greeted, 7));
	assert_string_equal(greeted_find(greeted, 8)->node, "a");
	assert_string_equal(greeted_find(greeted, 7 + GREETED_MAX)->node, "b");
	greeted_free(greeted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_who_greeted_last_on_a_pipe),
		cmocka_unit_test(a_newcomer_takes_the_place_of_the_oldest_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
