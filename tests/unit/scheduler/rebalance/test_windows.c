#include "scheduler/rebalance/windows.h"

#include "kube/time.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static uint64_t at(const char *text)
{
	int64_t wall_us;

	assert_int_equal(time_parse(&wall_us, text, NULL), 0);
	return (uint64_t)wall_us;
}

static bool is_open(const char *windows, const char *when)
{
	struct windows parsed;

	assert_int_equal(windows_parse(&parsed, windows, NULL), 0);
	return windows_is_open(&parsed, at(when));
}

/* 2026-11-23 is a Monday. */
static void nights_cross_midnight_into_the_next_day(void **state)
{
	static const char nights[] = "Mon-Fri 22:00-05:00,Sat,Sun";

	(void)state;
	assert_false(is_open(nights, "2026-11-23T21:59:59Z"));
	assert_true(is_open(nights, "2026-11-23T22:00:00Z"));
	assert_true(is_open(nights, "2026-11-24T04:59:59Z"));
	assert_false(is_open(nights, "2026-11-24T05:00:00Z"));
	assert_true(is_open(nights, "2026-11-28T12:00:00Z"));
	assert_true(is_open(nights, "2026-11-29T23:59:59Z"));
	assert_false(is_open(nights, "2026-11-30T00:00:00Z"));
}

static void a_sunday_night_reaches_into_monday(void **state)
{
	(void)state;
	assert_true(is_open("sun 23:00-01:30", "2026-11-23T01:29:00Z"));
	assert_false(is_open("sun 23:00-01:30", "2026-11-23T01:30:00Z"));
	assert_true(is_open("Sat-Mon", "2026-11-23T12:00:00Z"));
	assert_false(is_open("Sat-Mon", "2026-11-24T00:00:00Z"));
	assert_true(is_open("Mon 12:00-24:00", "2026-11-23T23:59:00Z"));
	assert_false(is_open("Mon 12:00-24:00", "2026-11-24T00:00:00Z"));
}

static void no_window_at_all_means_always(void **state)
{
	(void)state;
	assert_true(is_open("", "2026-11-23T12:00:00Z"));
}

static void errors_name_the_part(void **state)
{
	static const char *const wrong[] = { "Sat,Mun", "Sat,Mon 5:00-6:00",
		"Sat,Mon 05:00", "Sat,Mon-", "Sat,Mon 05:00-05:00",
		"Sat,Mon 24:00-25:00", "Sat,Mon 05:60-07:00", "Sat,", ",Sat",
		"Sat,Mon 05:00-06:00 x", "Sat,24:00", "Sat,Mon 24:00-05:00" };
	struct windows windows;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(wrong); i++) {
		assert_int_equal(windows_parse(&windows, wrong[i], &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "is no time of the week"));
	}
	assert_int_equal(windows_parse(&windows, wrong[0], &err), -EINVAL);
	assert_non_null(strstr(err.text, "'Mun'"));
}

static void the_next_window_is_known(void **state)
{
	struct windows windows;

	(void)state;
	assert_int_equal(windows_parse(&windows, "Mon 22:00-23:00", NULL), 0);
	assert_int_equal(windows_next_us(&windows, at("2026-11-23T21:30:30Z")),
		at("2026-11-23T22:00:00Z"));
	assert_int_equal(windows_next_us(&windows, at("2026-11-23T22:30:30Z")),
		at("2026-11-23T22:30:30Z"));
	assert_int_equal(windows_next_us(&windows, at("2026-11-23T23:00:00Z")),
		at("2026-11-30T22:00:00Z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nights_cross_midnight_into_the_next_day),
		cmocka_unit_test(a_sunday_night_reaches_into_monday),
		cmocka_unit_test(no_window_at_all_means_always),
		cmocka_unit_test(errors_name_the_part),
		cmocka_unit_test(the_next_window_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
