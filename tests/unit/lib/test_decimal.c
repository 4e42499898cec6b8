#include "lib/decimal.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cm.h"

static void agree(double value, int digits)
{
	char expected[DECIMAL_MAX];
	char out[DECIMAL_MAX];
	size_t len = decimal_number(out, value, digits);

	(void)snprintf(expected, sizeof(expected), "%.*g", digits, value);
	assert_string_equal(out, expected);
	assert_int_equal(len, strlen(out));
}

static void numbers_match_printf(void **state)
{
	static const double values[] = { 0, 1, 10, 0.1, 0.5, 1.5, 2.5, 9.5,
		99.95, 0.99999999999, 999999999.5, 1e-4, 9.9999e-5, 1e-5,
		123456789, 1234567891, 12345678912345678.0, 1e15, 1e22, 1e23,
		1e100, 1e-100, 5e-324, 1.7976931348623157e308, 0.3, 2.0 / 3,
		1e9 / 3, 1.0000000005, 1.00000000049999, 0.000123456789012 };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (int d = 1; d <= DECIMAL_DIGITS_MAX; d++) {
			agree(values[i], d);
			agree(-values[i], d);
		}
	}
}

/* Doubles of every magnitude with digits cut to every length, so that many are
 * close to the middle of two results. */
static void random_numbers_match_printf(void **state)
{
	(void)state;
	srandom(7);
	for (int i = 0; i < 300000; i++) {
		double value = (double)random() / (double)(1 + random() % 1000);
		double cut = pow(10, (double)(random() % 12));

		value *= pow(10, (double)(random() % 30 - 20));
		agree(value, 9);
		agree(value, 15);
		agree(floor(value * cut) / cut, 9);
		agree(floor(value * cut) / cut, 15);
		agree((floor(value * cut) + 0.5) / cut, 9);
	}
}

static void writes_whole_numbers_in_full(void **state)
{
	static const int64_t values[] = { 0, 1, -1, 9, 10, -10, 1234567890,
		INT64_MAX, INT64_MIN };
	char expected[DECIMAL_MAX];
	char out[DECIMAL_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)snprintf(expected, sizeof(expected), "%" PRId64,
			values[i]);
		assert_int_equal(decimal_integer(out, values[i]),
			strlen(expected));
		assert_string_equal(out, expected);
	}
	assert_int_equal(decimal_unsigned(out, UINT64_MAX), 20);
	assert_string_equal(out, "18446744073709551615");
}

/* Each digit next to each other digit, at each place of a group of eight. */
static void every_group_of_digits_is_right(void **state)
{
	char expected[DECIMAL_MAX];
	char out[DECIMAL_MAX];

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t values[] = { i, i * 10000, i * 10000 + 9999 - i,
			UINT64_C(100000000) * i + i,
			UINT64_C(10000000000000000) * (i % 1845) + i };

		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]);
			v++) {
			(void)snprintf(expected, sizeof(expected), "%" PRIu64,
				values[v]);
			assert_int_equal(decimal_unsigned(out, values[v]),
				strlen(expected));
			assert_string_equal(out, expected);
		}
	}
}

/* Everything written lies within DECIMAL_MAX bytes, including the words. */
static void writes_nothing_beyond_the_buffer(void **state)
{
	(void)state;
	srandom(11);
	for (int i = 0; i < 20000; i++) {
		double value = -(double)random() *
			pow(10, (double)(random() % 40 - 25));
		struct {
			char out[DECIMAL_MAX];
			char guard[8];
		} room = { .guard = "unhurt" };

		(void)decimal_number(room.out, value, 1 + (int)random() % 17);
		(void)decimal_figure(room.out, floor(value));
		(void)decimal_unsigned(room.out, (uint64_t)-value);
		assert_string_equal(room.guard, "unhurt");
	}
}

static void figures_are_whole_or_have_nine_digits(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 0, "0" }, { -0.0, "0" }, { 12, "12" }, { -3, "-3" },
		{ 999999999999999, "999999999999999" }, { 1e15, "1e+15" },
		{ 16777216000, "16777216000" }, { 0.1, "0.1" },
		{ 12345678901.5, "1.23456789e+10" }, { 1.0 / 3, "0.333333333" },
		{ 1e-7 / 3, "3.33333333e-08" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[DECIMAL_MAX];

		assert_int_equal(decimal_figure(out, cases[i].value),
			strlen(cases[i].text));
		assert_string_equal(out, cases[i].text);
	}
}

static void agree_on_figure(const struct decimal *figure, double value)
{
	bool is_whole = fabs(value) < 1e15 && fabs(value - floor(value)) <= 0;
	char expected[DECIMAL_MAX];
	char out[DECIMAL_MAX];

	(void)snprintf(expected, sizeof(expected), "%.*g", is_whole ? 15 : 9,
		value);
	assert_int_equal(decimal_put(out, figure), strlen(expected));
	assert_string_equal(out, expected);
}

/* Every kind of number, next to one that is not finite. */
static void rounds_several_numbers_before_writing_them(void **state)
{
	enum { COUNT = 7 };
	struct decimal figures[COUNT];

	(void)state;
	srandom(13);
	for (int i = 0; i < 50000; i++) {
		double some = (double)random() / 1e7 - 100;
		double values[COUNT] = { some, floor(some),
			some * pow(10, (double)(random() % 60 - 30)),
			floor(some * 1e3) / 1e3,
			(floor(some * 1e6) * 10 + 5) / 1e7, 1e15 + some, NAN };

		decimal_round(figures, values, COUNT);
		for (size_t v = 0; v + 1 < COUNT; v++) {
			agree_on_figure(&figures[v], values[v]);
		}
	}
}

static void seconds_have_the_decimals_they_need(void **state)
{
	static const struct {
		uint64_t us;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1000000, "1" },
		{ 1500000, "1.5" },
		{ 1795171612000001, "1795171612.000001" },
		{ 60000010, "60.00001" },
	};
	char text[DECIMAL_MAX];

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(decimal_seconds(text, cases[i].us),
			strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
	}
}

static void reads_digits_up_to_a_limit(void **state)
{
	static const struct {
		const char *text, *rest; /* rest NULL: refused */
		uint64_t most, value;
	} cases[] = {
		{ "0", "", 0, 0 },
		{ "007-8", "-8", 7, 7 },
		{ "18446744073709551615", "", UINT64_MAX, UINT64_MAX },
		{ "18446744073709551616", NULL, UINT64_MAX, 0 },
		{ "1000", NULL, 999, 0 },
		{ "8", NULL, 7, 0 },
		{ "", NULL, 9, 0 },
		{ "-1", NULL, 9, 0 },
		{ "+1", NULL, 9, 0 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const char *at = cases[i].text;
		uint64_t value = 77;
		bool is_read = decimal_parse(&value, &at, cases[i].most);

		assert_int_equal(is_read, cases[i].rest != NULL);
		assert_true(value == (is_read ? cases[i].value : 77));
		if (is_read) {
			assert_string_equal(at, cases[i].rest);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_match_printf),
		cmocka_unit_test(random_numbers_match_printf),
		cmocka_unit_test(writes_whole_numbers_in_full),
		cmocka_unit_test(every_group_of_digits_is_right),
		cmocka_unit_test(writes_nothing_beyond_the_buffer),
		cmocka_unit_test(figures_are_whole_or_have_nine_digits),
		cmocka_unit_test(rounds_several_numbers_before_writing_them),
		cmocka_unit_test(seconds_have_the_decimals_they_need),
		cmocka_unit_test(reads_digits_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
