#include "lib/utf8.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

static const struct {
	const char *text;
	size_t length;
} cases[] = {
	{ "a", 1 },
	{ "\x7f", 1 },
	{ "\xc3\xa4", 2 },
	{ "\xe2\x82\xac", 3 },
	{ "\xf0\x9f\x98\x80", 4 },
	{ "\xf4\x8f\xbf\xbf", 4 },
	{ "\x80", 0 }, /* a continuation byte */
	{ "\xff", 0 },
	{ "\xc0\x80", 0 }, /* overlong */
	{ "\xe0\x9f\xbf", 0 },
	{ "\xf0\x8f\xbf\xbf", 0 },
	{ "\xed\xa0\x80", 0 },	   /* a surrogate */
	{ "\xf4\x90\x80\x80", 0 }, /* above U+10FFFF */
	{ "\xf5\x80\x80\x80", 0 },
	{ "\xc3", 0 }, /* truncated */
	{ "\xe2\x82", 0 },
	{ "\xf0\x9f\x98", 0 },
	{ "\xe2\x82z", 0 },
};

static void finds_the_length_of_characters(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(utf8_length(cases[i].text), cases[i].length);
	}
}

static void replaces_invalid_bytes_one_by_one(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	const char *text = "a\xff\xc3\xa4\xe2\x82z";

	(void)state;
	while (*text != '\0') {
		text += utf8_append(&out, text);
	}
	assert_string_equal(out.data,
		"a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbdz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_length_of_characters),
		cmocka_unit_test(replaces_invalid_bytes_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
