#include "aggregator/ingest/wire_sessions.h"

#include "tests/support/cm.h"

#include <stdio.h>

static struct hello hello_of(const char *node)
{
	struct hello hello = { .run_id = { 1 } };

	(void)snprintf(hello.node, sizeof(hello.node), "%s", node);
	return hello;
}

static void finds_the_last_hello_of_a_pipe(void **state)
{
	struct wire_sessions *sessions = wire_sessions_new();
	struct hello a = hello_of("a");
	struct hello b = hello_of("b");

	(void)state;
	assert_null(wire_sessions_find(sessions, 7, 0));
	assert_null(wire_sessions_find(sessions, 0, 0));
	wire_sessions_put(sessions, 7, &a, UINT64_MAX);
	wire_sessions_put(sessions, 8, &b, UINT64_MAX);
	assert_string_equal(wire_sessions_find(sessions, 7, 0)->node, "a");
	assert_string_equal(wire_sessions_find(sessions, 8, 0)->node, "b");
	wire_sessions_put(sessions, 7, &b, UINT64_MAX);
	assert_string_equal(wire_sessions_find(sessions, 7, 0)->node, "b");
	wire_sessions_free(sessions);
}

static void a_new_pipe_replaces_only_the_oldest(void **state)
{
	struct wire_sessions *sessions = wire_sessions_new();
	struct hello a = hello_of("a");
	struct hello b = hello_of("b");

	(void)state;
	wire_sessions_put(sessions, 7, &a, UINT64_MAX);
	wire_sessions_put(sessions, 8, &a, UINT64_MAX);
	wire_sessions_put(sessions, 7 + WIRE_SESSIONS_MAX, &b, UINT64_MAX);
	assert_null(wire_sessions_find(sessions, 7, 0));
	assert_string_equal(wire_sessions_find(sessions, 8, 0)->node, "a");
	assert_string_equal(
		wire_sessions_find(sessions, 7 + WIRE_SESSIONS_MAX, 0)->node,
		"b");
	wire_sessions_free(sessions);
}

static void a_session_ends_and_can_be_extended_within_its_grace(void **state)
{
	struct wire_sessions *sessions = wire_sessions_new();
	struct hello a = hello_of("a");
	struct hello other = hello_of("a");

	(void)state;
	wire_sessions_put(sessions, 7, &a, 100);
	assert_non_null(wire_sessions_find(sessions, 7, 99));
	assert_null(wire_sessions_find(sessions, 7, 100));
	assert_true(wire_sessions_extend(sessions, 7, &a, 100, 200));
	assert_non_null(wire_sessions_find(sessions, 7, 199));
	assert_null(wire_sessions_find(sessions, 7, 200));
	/* Never longer than the grace period. */
	assert_true(wire_sessions_extend(sessions, 7, &a,
		100 + WIRE_SESSIONS_GRACE_US, UINT64_MAX));
	assert_null(
		wire_sessions_find(sessions, 7, 100 + WIRE_SESSIONS_GRACE_US));
	assert_false(wire_sessions_extend(sessions, 7, &a,
		101 + WIRE_SESSIONS_GRACE_US, UINT64_MAX));
	/* Not for another pipe, process, node or role. */
	wire_sessions_put(sessions, 7, &a, 100);
	assert_false(wire_sessions_extend(sessions, 8, &a, 100, 200));
	other.run_id[0] = 2;
	assert_false(wire_sessions_extend(sessions, 7, &other, 100, 200));
	other = hello_of("b");
	assert_false(wire_sessions_extend(sessions, 7, &other, 100, 200));
	other = hello_of("a");
	other.role = HELLO_SCHEDULER;
	assert_false(wire_sessions_extend(sessions, 7, &other, 100, 200));
	wire_sessions_free(sessions);
}

static void does_not_keep_the_token(void **state)
{
	struct wire_sessions *sessions = wire_sessions_new();
	struct hello a = hello_of("a");
	char token[] = "secret";

	(void)state;
	a.token = token;
	wire_sessions_put(sessions, 7, &a, UINT64_MAX);
	assert_null(wire_sessions_find(sessions, 7, 0)->token);
	wire_sessions_free(sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_last_hello_of_a_pipe),
		cmocka_unit_test(a_new_pipe_replaces_only_the_oldest),
		cmocka_unit_test(
			a_session_ends_and_can_be_extended_within_its_grace),
		cmocka_unit_test(does_not_keep_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
