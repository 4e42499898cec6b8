#include "proto/wire_session.h"

#include "tests/support/cm.h"

static const struct wire_reply welcome = { .kind = WIRE_WELCOME };
static const struct wire_reply stored = { .kind = WIRE_ACK,
	.ack = { .stored = true } };
static const struct wire_reply need_hello = { .kind = WIRE_ACK,
	.ack = { .need_hello = true } };
static const struct wire_reply refused = { .kind = WIRE_REFUSED };

static enum wire_session_event exchange(struct wire_session *session,
	const struct wire_reply *reply)
{
	(void)wire_session_begin(session);
	return wire_session_take(session, reply);
}

static void hello_comes_first_where_it_is_needed(void **state)
{
	struct wire_session session = { .needs_hello = true };
	struct wire_session open = { .needs_hello = false };

	(void)state;
	assert_true(wire_session_begin(&session));
	assert_int_equal(wire_session_take(&session, &welcome),
		WIRE_SESSION_WELCOMED);
	assert_false(wire_session_begin(&session));
	assert_int_equal(wire_session_take(&session, &stored),
		WIRE_SESSION_REPLY);
	assert_false(wire_session_begin(&open));
}

static void hello_is_said_again_until_it_is_welcomed(void **state)
{
	struct wire_session session = { .needs_hello = true };

	(void)state;
	assert_int_equal(exchange(&session, &refused), WIRE_SESSION_REFUSED);
	assert_true(wire_session_begin(&session));
	assert_int_equal(wire_session_take(&session, &stored),
		WIRE_SESSION_UNEXPECTED);
	assert_true(wire_session_begin(&session));
}

static void the_aggregator_may_ask_for_hello(void **state)
{
	struct wire_session session = { .needs_hello = false };

	(void)state;
	assert_int_equal(exchange(&session, &need_hello),
		WIRE_SESSION_HELLO_DUE);
	assert_true(wire_session_begin(&session));
	assert_int_equal(wire_session_take(&session, &welcome),
		WIRE_SESSION_WELCOMED);
}

static void asking_for_hello_twice_without_progress_is_a_loop(void **state)
{
	struct wire_session session = { .needs_hello = false };

	(void)state;
	assert_int_equal(exchange(&session, &need_hello),
		WIRE_SESSION_HELLO_DUE);
	assert_int_equal(exchange(&session, &welcome), WIRE_SESSION_WELCOMED);
	assert_int_equal(exchange(&session, &need_hello),
		WIRE_SESSION_HELLO_LOOP);
	assert_int_equal(exchange(&session, &welcome), WIRE_SESSION_WELCOMED);
	assert_int_equal(exchange(&session, &stored), WIRE_SESSION_REPLY);
	assert_int_equal(exchange(&session, &need_hello),
		WIRE_SESSION_HELLO_DUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_comes_first_where_it_is_needed),
		cmocka_unit_test(hello_is_said_again_until_it_is_welcomed),
		cmocka_unit_test(the_aggregator_may_ask_for_hello),
		cmocka_unit_test(
			asking_for_hello_twice_without_progress_is_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
