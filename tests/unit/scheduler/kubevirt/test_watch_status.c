#include "scheduler/kubevirt/watch_status.h"

#include "tests/support/cm.h"

static struct watch_status given_status(void)
{
	return (struct watch_status){ .resource = "things" };
}

static void poll_at(struct watch_status *status, bool is_synced,
	bool is_watching, const char *error, uint64_t now_us)
{
	const struct reflector_state state = {
		.is_synced = is_synced,
		.is_watching = is_watching,
		.last_error = error,
	};

	watch_status_poll(status, &state, now_us);
}

static void expect_why(const struct watch_status *status, const char *expected)
{
	scoped_buffer struct buffer why = BUFFER_MAX(512);

	assert_int_equal(watch_status_is_running(status, &why),
		*expected == '\0');
	assert_string_equal(why.data == NULL ? "" : why.data, expected);
}

static void runs_once_the_first_list_is_complete(void **state)
{
	struct watch_status status = given_status();

	(void)state;
	expect_why(&status, "things are not watched yet");
	watch_status_poll(&status, NULL, 1);
	poll_at(&status, false, false, "", 1);
	expect_why(&status, "things are not watched yet");
	poll_at(&status, true, true, "", 2);
	expect_why(&status, "");
}

static void says_why_it_does_not_run(void **state)
{
	struct watch_status status = given_status();

	(void)state;
	poll_at(&status, false, false, "things is forbidden", 1);
	expect_why(&status, "things are not watched: things is forbidden");
	assert_true(status.was_logged);
	poll_at(&status, true, true, "", 2);
	assert_false(status.was_logged);
}

static void is_lost_after_a_while(void **state)
{
	struct watch_status status = given_status();

	(void)state;
	poll_at(&status, true, true, "", 1);
	poll_at(&status, true, false, "no route", 2);
	expect_why(&status, "");
	poll_at(&status, true, true, "", 3);
	poll_at(&status, true, false, "no route", 4);
	poll_at(&status, true, false, "no route", 3 + WATCH_STATUS_LOST_US);
	expect_why(&status, "");
	poll_at(&status, true, false, "no route", 4 + WATCH_STATUS_LOST_US);
	expect_why(&status, "things are not watched: no route");
	poll_at(&status, true, true, "", 5 + WATCH_STATUS_LOST_US);
	expect_why(&status, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_once_the_first_list_is_complete),
		cmocka_unit_test(says_why_it_does_not_run),
		cmocka_unit_test(is_lost_after_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
