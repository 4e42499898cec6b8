#include "kubectl/escape.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

static void hidden_characters_become_visible(void **state)
{
	static const struct {
		const char *text, *escaped;
	} cases[] = {
		{ "node1", "node1" }, { "a\x1b[2Jb", "a\\x1b[2Jb" },
		{ "a\nb\tc\r", "a\\nb\\tc\\x0d" }, { "\x7f", "\\x7f" },
		{ "\xc2\x9b"
		  "31m",
			"\\u009b31m" }, /* C1's CSI */
		{ "a\xe2\x80\xae\xe2\x80\xac",
			"a\\u202e\\u202c" }, /* right-to-left override */
		{ "\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069" },
		{ "\xef\xbb\xbf", "\\ufeff" },
		{ "\xf3\xa0\x81\x81", "\\U000e0041" },
		{ "caf\xc3\xa9 \xe6\xb8\xa9 \xf0\x9f\x94\xa5",
			"caf\xc3\xa9 \xe6\xb8\xa9 \xf0\x9f\x94\xa5" },
		{ "\xff\xc3(\xe2\x80", "\\xff\\xc3(\\xe2\\x80" },
		{ "\xc0\x9b", "\\xc0\\x9b" }, /* overlong */
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *got = escape_copy(cases[i].text);

		assert_string_equal(got, cases[i].escaped);
	}
}

static void lines_keep_newlines_and_tabs_and_lose_zeros(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);

	(void)state;
	escape_lines(&out, "a\n\tb\0c\x1b", 7);
	assert_string_equal(out.data, "a\n\tb\\x00c\\x1b");
}

static void nothing_is_an_empty_text_and_long_texts_end(void **state)
{
	char text[ESCAPE_TEXT_MAX + 10];
	scoped_free char *empty = escape_copy(NULL);
	scoped_free char *cut = NULL;

	(void)state;
	assert_string_equal(empty, "");
	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cut = escape_copy(text);
	assert_int_equal(strlen(cut), 2 * ESCAPE_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_characters_become_visible),
		cmocka_unit_test(lines_keep_newlines_and_tabs_and_lose_zeros),
		cmocka_unit_test(nothing_is_an_empty_text_and_long_texts_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
