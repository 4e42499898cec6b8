#include "kube/json_scan.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

/* Writes a value as compact text. */
static void print(struct buffer *out, const struct json_value *value)
{
	bool is_object = json_value_is_object(value);
	const char *text = json_value_text(value);
	const struct json_value *v;

	if (!is_object && !json_value_is_array(value)) {
		buffer_text(out, text != NULL ? text : "?");
		return;
	}
	buffer_char(out, is_object ? '{' : '[');
	for (v = json_value_first(value); v != NULL; v = json_value_next(v)) {
		if (is_object) {
			buffer_printf(out, "%s:", json_value_key(v));
		}
		print(out, v);
		buffer_char(out, ' ');
	}
	buffer_char(out, is_object ? '}' : ']');
}

static void assert_reads(const char *text, const char *expected)
{
	scoped_buffer struct buffer got = BUFFER_MAX(1000);
	size_t len = strlen(text);
	scoped_free char *bytes = xmemdup(text, len); /* without its NUL */
	struct json_value *value = NULL;

	assert_int_equal(json_scan_parse_object(&value, bytes, len, NULL), 0);
	print(&got, value);
	json_value_free(value);
	assert_string_equal(got.data, expected);
}

#define FIELDS                                                                 \
	"\"managedFields\":[{\"f:a\":{\"k:{\\\"x\\\":1}\":{}}},\"]},\\\"\"]"

static void leaves_out_managed_fields_everywhere(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "{" FIELDS "}", "{}" },
		{ "{" FIELDS ",\"a\":\"1\"}", "{a:1 }" },
		{ "{\"a\":\"1\"," FIELDS "}", "{a:1 }" },
		{ "{\"a\":\"1\"," FIELDS ",\"b\":\"2\"}", "{a:1 b:2 }" },
		{ "{\"m\":{\"n\":\"1\"," FIELDS "},\"l\":[{" FIELDS "},{" FIELDS
		  ",\"a\":[]}]}",
			"{m:{n:1 } l:[{} {a:[] } ] }" },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		assert_reads(cases[i].text, cases[i].expected);
	}
}

static void keeps_text_that_looks_like_managed_fields(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "{\"a\":\",\\\"managedFields\\\":[\"}",
			"{a:,\"managedFields\":[ }" },
		{ "{\"x\\\"managedFields\":\"1\"}", "{x\"managedFields:1 }" },
		{ "{\"managedField\":\"1\",\"managedFieldss\":\"2\"}",
			"{managedField:1 managedFieldss:2 }" },
		{ "[\"managedFields\",\"a\"]", "[managedFields a ]" },
		{ "{\"managedFields\":null,\"a\":\"1\"}",
			"{managedFields:? a:1 }" },
		{ "{\"managedFields\":[] ,\"a\":\"1\"}",
			"{managedFields:[] a:1 }" },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		assert_reads(cases[i].text, cases[i].expected);
	}
}

static void expect_refused(const char *text)
{
	size_t len = strlen(text);
	scoped_free char *bytes = xmemdup(text, len);
	struct json_value *value = NULL;

	if (json_scan_parse_object(&value, bytes, len, NULL) != -EBADMSG) {
		fail_msg("taken: %s", text);
	}
}

static void leaves_invalid_text_to_the_parser(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"{\"managedFields\":",
		"{\"managedFields\":[",
		"{\"managedFields\":[1}",
		"{\"a\":1,\"managedFields\":[]",
		"{\"managedFields\":[]}}",
		"{\"a\",\"managedFields\":[]}",
	};
	(void)state;

	for (size_t i = 0; i < count_of(texts); i++) {
		expect_refused(texts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_out_managed_fields_everywhere),
		cmocka_unit_test(keeps_text_that_looks_like_managed_fields),
		cmocka_unit_test(leaves_invalid_text_to_the_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
