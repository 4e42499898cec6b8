#include "lib/base64.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

/* The test vectors of RFC 4648, section 10, and bytes above 127. */
static void encodes_as_the_rfc_says(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} cases[] = {
		{ "", 0, "" },
		{ "f", 1, "Zg==" },
		{ "fo", 2, "Zm8=" },
		{ "foo", 3, "Zm9v" },
		{ "foob", 4, "Zm9vYg==" },
		{ "fooba", 5, "Zm9vYmE=" },
		{ "foobar", 6, "Zm9vYmFy" },
		{ "\xff\xfe\x00\x80", 4, "//4AgA==" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			base64_encode(cases[i].bytes, cases[i].len);

		assert_string_equal(text, cases[i].text);
	}
}

static void decodes_what_is_that_of_a_text(void **state)
{
	static const struct {
		const char *digits, *text; /* NULL: not of a text */
	} cases[] = {
		{ "", NULL }, { "Zg==", "f" }, { "Zm8=", "fo" },
		{ "Zm9vYmFy", "foobar" }, { "Zm9v\r\n Ym\tFy\n", "foobar" },
		{ "Zg==\n", "f" }, { "QEBA", "@@@" },
		{ "Pz8/Pj4+", "?\?\?>>>" }, { "//4=", "\xff\xfe" },
		{ "Zm9*", NULL }, { "Zm9v-", NULL }, { "Zg==x", NULL },
		{ "YQBi", NULL }, /* a zero byte */
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text = base64_decode_text(cases[i].digits);

		if (cases[i].text == NULL) {
			assert_null(text);
		} else {
			assert_non_null(text);
			assert_string_equal(text, cases[i].text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_as_the_rfc_says),
		cmocka_unit_test(decodes_what_is_that_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
