#include "scheduler/forecast/announcement.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "lib/memory.h"

static struct announcement read(const char *text)
{
	struct announcement out = { 0 };
	struct error err;

	if (announcement_parse(&out, text, &err) < 0) {
		fail_msg("'%s': %s", text, err.text);
	}
	return out;
}

static int cores_at(const struct announcement *a, int hour, int minute)
{
	const int64_t days_s = INT64_C(20000) * 86400;
	const int64_t time_s = INT64_C(3600) * hour + INT64_C(60) * minute;

	return (int)(10 * announcement_cores(a, (days_s + time_s) * 1000000));
}

static void counts_from_an_hour_before_until_the_end(void **state)
{
	struct announcement a = read("6 from 18:00 to 23:00");

	(void)state;
	assert_int_equal(cores_at(&a, 16, 59), 0);
	assert_int_equal(cores_at(&a, 17, 0), 60);
	assert_int_equal(cores_at(&a, 22, 59), 60);
	assert_int_equal(cores_at(&a, 23, 0), 0);
}

static void may_cross_midnight_and_so_may_its_hour_before(void **state)
{
	struct announcement late = read("2.5 from 22:30 to 01:00");
	struct announcement early = read("3 from 00:30 to 02:00");

	(void)state;
	assert_int_equal(cores_at(&late, 21, 29), 0);
	assert_int_equal(cores_at(&late, 23, 59), 25);
	assert_int_equal(cores_at(&late, 0, 59), 25);
	assert_int_equal(cores_at(&late, 1, 0), 0);
	assert_int_equal(cores_at(&early, 23, 30), 30);
	assert_int_equal(cores_at(&early, 23, 29), 0);
	assert_int_equal(cores_at(&early, 2, 0), 0);
}

static void the_largest_of_several_counts(void **state)
{
	struct announcement a =
		read(" 1 ,\t8 from 09:00 to 10:00,4 from 08:00 to 24:00 ");

	(void)state;
	assert_int_equal(cores_at(&a, 3, 0), 10);
	assert_int_equal(cores_at(&a, 7, 30), 40);
	assert_int_equal(cores_at(&a, 8, 0), 80);
	assert_int_equal(cores_at(&a, 23, 59), 40);
	assert_int_equal(cores_at(&a, 0, 0), 10);
}

static void equal_times_are_the_whole_day(void **state)
{
	struct announcement a = read("7 from 12:00 to 12:00");
	struct announcement b = read("7 from 00:00 to 24:00");

	(void)state;
	for (int hour = 0; hour < 24; hour++) {
		assert_int_equal(cores_at(&a, hour, 0), 70);
		assert_int_equal(cores_at(&b, hour, 30), 70);
	}
}

static void any_time_and_no_announcement_are_fine(void **state)
{
	struct announcement a = read("6 from 18:00 to 23:00");

	(void)state;
	assert_true(announcement_cores(NULL, 0) <= 0);
	assert_true(announcement_cores(&a, INT64_MIN) >= 0);
	assert_true(announcement_cores(&a, INT64_MAX) >= 0);
	/* 1969-12-31 18:00. */
	assert_true(announcement_cores(&a, INT64_C(-21600) * 1000000) > 5);
}

static void what_is_not_an_announcement_is_refused_and_explained(void **state)
{
	static const char *const texts[] = { "", "x", "-1", "0", "0.0", "nan",
		"1e3", "5000", "6 from", "6 from 18:00", "6 from 18:00 to",
		"6 from 18:00 to 25:00", "6 from 18:60 to 19:00",
		"6 from 8:00 to 9:00", "6 to 9:00", "6,", ",6", "6 7",
		"6 from 18:00 to 23:00 UTC", "6 from 24:01 to 23:00",
		"1,1,1,1,1,1,1,1,1,1,1,1,1" };
	char many[600];
	struct announcement out = { .count = 77 };
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		err.text[0] = '\0';
		assert_true(announcement_parse(&out, texts[i], &err) < 0);
		assert_true(strlen(err.text) > 0);
	}
	memset(many, ' ', sizeof(many));
	many[0] = '1';
	many[sizeof(many) - 1] = '\0';
	assert_int_equal(announcement_parse(&out, many, &err), -E2BIG);
	assert_int_equal(out.count, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_from_an_hour_before_until_the_end),
		cmocka_unit_test(may_cross_midnight_and_so_may_its_hour_before),
		cmocka_unit_test(the_largest_of_several_counts),
		cmocka_unit_test(equal_times_are_the_whole_day),
		cmocka_unit_test(any_time_and_no_announcement_are_fine),
		cmocka_unit_test(
			what_is_not_an_announcement_is_refused_and_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
