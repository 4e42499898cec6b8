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

static size_t encode(char out[5], uint32_t c)
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = length; i-- > 1; c >>= 6) {
		out[i] = (char)(0x80 | (c & 0x3f));
	}
	out[0] = (char)(first[length] | c);
	out[length] = '\0';
	return length;
}

static bool is_hidden(uint32_t c)
{
	char text[5];
	uint32_t got;
	size_t length = encode(text, c);
	bool is = escape_is_hidden(&got, text, length);

	assert_int_equal(got, c);
	return is;
}

static void all_that_unicode_lets_a_font_ignore_is_hidden(void **state)
{
	static const uint32_t ignorable[][2] = { { 0xad, 0xad },
		{ 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff } };
	/* C0, DEL and C1, two separators, three marks of annotations */
	size_t expected = 32 + 33 + 2 + 3, count = 0;

	(void)state;
	for (size_t i = 0; i < count_of(ignorable); i++) {
		for (uint32_t c = ignorable[i][0]; c <= ignorable[i][1]; c++) {
			assert_true(is_hidden(c));
			expected++;
		}
	}
	assert_int_equal(expected, 32 + 33 + 2 + 3 + 4174);
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		if (c < 0xd800 || c > 0xdfff) {
			count += is_hidden(c);
		}
	}
	assert_int_equal(count, expected);
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
		cmocka_unit_test(all_that_unicode_lets_a_font_ignore_is_hidden),
		cmocka_unit_test(lines_keep_newlines_and_tabs_and_lose_zeros),
		cmocka_unit_test(nothing_is_an_empty_text_and_long_texts_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
