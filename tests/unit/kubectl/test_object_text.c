#include "kubectl/object_text.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

/* Prints the JSON of a text in one of both formats. */
static char *printed(const char *text, bool is_yaml)
{
	struct buffer out = BUFFER_MAX(10000);
	struct json_value *value = NULL;
	char *result;

	assert_int_equal(json_value_parse(&value, text, strlen(text), NULL), 0);
	if (is_yaml) {
		object_text_yaml(&out, value, 0);
	} else {
		object_text_json(&out, value, 0);
	}
	json_value_free(value);
	result = buffer_take(&out, NULL);
	return result;
}

static void json_is_indented_as_kubectls(void **state)
{
	scoped_free char *got =
		printed("{\"a\":{\"b\":[1,{}],\"c\":[]},\"d\":null}", false);

	(void)state;
	assert_string_equal(got,
		"{\n    \"a\": {\n        \"b\": [\n"
		"            1,\n            {}\n        ],\n"
		"        \"c\": []\n    },\n    \"d\": null\n}");
}

static void yaml_is_kubectls_block_style(void **state)
{
	scoped_free char *got = printed(
		"{\"a\":{\"b\":[1,{\"x\":true,\"z\":[2]},[3]],\"c\":[]},"
		"\"d\":\"no\",\"1\":\"2026-01-01\",\"e\":{},\"f\":\"a b\"}",
		true);

	(void)state;
	assert_string_equal(got,
		"a:\n  b:\n  - 1\n  - x: true\n    z:\n"
		"    - 2\n  - - 3\n  c: []\nd: \"no\"\n"
		"\"1\": \"2026-01-01\"\ne: {}\nf: \"a b\"\n");
}

static void numbers_keep_their_value(void **state)
{
	static const char *const numbers[] = { "0.1", "1e+300", "-3",
		"123456789012345", "0.30000000000000004", "2.5e-07" };

	(void)state;
	for (size_t i = 0; i < count_of(numbers); i++) {
		scoped_free char *got = printed(numbers[i], false);

		assert_string_equal(got, numbers[i]);
	}
}

static void hidden_characters_are_escapes_in_both(void **state)
{
	for (int is_yaml = 0; is_yaml < 2; is_yaml++) {
		scoped_free char *got = printed(
			"\"\\u001b\\n\\u202e\\u007f\\u0085\\\"\\\\\xff\"",
			is_yaml == 1);

		assert_memory_equal(got,
			"\"\\u001b\\n\\u202e\\u007f\\u0085\\\"\\\\\xef\xbf\xbd"
			"\"",
			strlen("\"\\u001b\\n\\u202e\\u007f\\u0085\\\"\\\\xxx"
			       "\""));
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_indented_as_kubectls),
		cmocka_unit_test(yaml_is_kubectls_block_style),
		cmocka_unit_test(numbers_keep_their_value),
		cmocka_unit_test(hidden_characters_are_escapes_in_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
