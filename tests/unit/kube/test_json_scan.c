#include "kube/json_scan.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

/* What was read, written as tersely as it can be told apart. */
static void print(struct buffer *out, const struct value *value)
{
	bool is_object = value_is_object(value);
	const char *text = value_text(value);
	const struct value *v;

	if (!is_object && !value_is_array(value)) {
		buffer_text(out, text != NULL ? text : "?");
		return;
	}
	buffer_char(out, is_object ? '{' : '[');
	for (v = value_first(value); v != NULL; v = value_next(v)) {
		if (is_object) {
			buffer_printf(out, "%s:", value_key(v));
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
	struct value *value = NULL;

	assert_int_equal(scan_parse(&value, bytes, len, NULL), 0);
	print(&got, value);
	value_free(value);
	assert_string_equal(got.data, expected);
}

#define FIELDS                                                                 \
	"\"managedFields\":[{\"f:a\":{\"k:{\\\"x\\\":1}\":{}}},\"]},\\\"\"]"

static void managed_fields_are_left_out_wherever_they_stand(void **state)
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

static void what_only_looks_like_them_stays(void **state)
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
	struct value *value = NULL;

	if (scan_parse(&value, bytes, len, NULL) != -EBADMSG) {
		fail_msg("taken: %s", text);
	}
}

static void what_is_broken_stays_broken(void **state)
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
		cmocka_unit_test(
			managed_fields_are_left_out_wherever_they_stand),
		cmocka_unit_test(what_only_looks_like_them_stays),
		cmocka_unit_test(what_is_broken_stays_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
