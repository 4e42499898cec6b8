#include "agent/scan.h"

#include <stdio.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

enum { UNTOUCHED = 77 };

static void parses_only_numbers_of_at_most_64_bits(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "007", true, 7 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, UNTOUCHED },
		{ "99999999999999999999999", false, UNTOUCHED },
		{ "12abc", true, 12 },
		{ "", false, UNTOUCHED },
		{ "-1", false, UNTOUCHED },
		{ "+1", false, UNTOUCHED },
		{ " 1", false, UNTOUCHED },
		{ "x", false, UNTOUCHED },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct scan s = { .at = cases[i].text };
		uint64_t value = UNTOUCHED;

		assert_int_equal(scan_u64(&s, &value), cases[i].ok);
		assert_int_equal(value, cases[i].value);
		if (!cases[i].ok) {
			assert_ptr_equal(s.at, cases[i].text);
		}
	}
}

static void reads_decimals_without_a_locale(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		double value;
	} cases[] = {
		{ "0.25 ", true, 0.25 },
		{ "12", true, 12 },
		{ "3.06", true, 3.06 },
		{ "0.07 ", true, 0.07 },
		{ "1.13", true, 1.13 },
		{ "1234.56", true, 1234.56 },
		{ "1.00000000000000000000009", true, 1 },
		{ "18446744073709551615.5", true, 18446744073709551615.0 },
		{ "1,5", true, 1 },
		{ "1.", false, UNTOUCHED },
		{ ".5", false, UNTOUCHED },
		{ "", false, UNTOUCHED },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct scan s = { .at = cases[i].text };
		double value = UNTOUCHED;

		assert_int_equal(scan_decimal(&s, &value), cases[i].ok);
		/* Exact to the last bit, so the store can compress it. */
		assert_true(value == cases[i].value);
	}
}

static void parses_every_hundredth_to_the_nearest_double(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		char text[32];
		struct scan s = { .at = text };
		double value = UNTOUCHED;

		(void)snprintf(text, sizeof(text), "%d.%02d", i / 100, i % 100);
		assert_true(scan_decimal(&s, &value));
		assert_true(value == (double)i / 100);
	}
}

static void skips_words_and_lines(void **state)
{
	struct scan s = { .at = "one  two\nthree" };

	(void)state;
	assert_false(scan_text(&s, "onex"));
	assert_true(scan_text(&s, "on"));
	scan_word(&s);
	scan_blanks(&s);
	assert_string_equal(s.at, "two\nthree");
	scan_word(&s);
	scan_blanks(&s);
	assert_string_equal(s.at, "\nthree");
	scan_line(&s);
	assert_string_equal(s.at, "three");
	assert_false(scan_end(&s));
	scan_line(&s);
	assert_true(scan_end(&s));
	scan_line(&s);
	assert_true(scan_end(&s));
}

static void finds_keys_in_any_order_and_ignores_others(void **state)
{
	static const char text[] =
		"other 1\nb 20 kB\n"
		"aa 5\na\t \t7\nbroken\nc x\nd 12x\n";
	uint64_t a = UNTOUCHED;
	uint64_t b = UNTOUCHED;
	uint64_t c = UNTOUCHED;
	uint64_t d = UNTOUCHED;
	uint64_t missing = UNTOUCHED;
	const struct scan_field want[] = {
		{ "a", &a },
		{ "b", &b },
		{ "c", &c },
		{ "d", &d },
		{ "missing", &missing },
	};

	(void)state;
	assert_int_equal(scan_keyed(text, want, count_of(want)), 2);
	assert_int_equal(a, 7);
	assert_int_equal(b, 20);
	assert_int_equal(c, UNTOUCHED);
	assert_int_equal(d, UNTOUCHED);
	assert_int_equal(missing, UNTOUCHED);
}

static void reads_a_file_of_one_number(void **state)
{
	static const struct {
		const char *text;
		bool ok;
	} cases[] = {
		{ "42\n", true },
		{ "42", true },
		{ "42  \n", true },
		{ "42\n43\n", false },
		{ "max\n", false },
		{ "", false },
		{ "\n", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		uint64_t value = UNTOUCHED;

		assert_int_equal(scan_single(cases[i].text, &value),
			cases[i].ok);
		assert_int_equal(value, cases[i].ok ? 42 : UNTOUCHED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_only_numbers_of_at_most_64_bits),
		cmocka_unit_test(reads_decimals_without_a_locale),
		cmocka_unit_test(parses_every_hundredth_to_the_nearest_double),
		cmocka_unit_test(skips_words_and_lines),
		cmocka_unit_test(finds_keys_in_any_order_and_ignores_others),
		cmocka_unit_test(reads_a_file_of_one_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
