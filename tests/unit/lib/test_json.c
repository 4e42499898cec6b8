#include "lib/json.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>

static void writes_commas_and_nesting(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json j = json_into(&out);

	(void)state;
	json_object(&j, NULL);
	json_string(&j, "a", "x");
	json_array(&j, "list");
	json_integer(&j, NULL, 1);
	json_array(&j, NULL);
	json_array_end(&j);
	json_object(&j, NULL);
	json_object_end(&j);
	json_object(&j, NULL);
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_object_end(&j);
	json_array_end(&j);
	json_null(&j, "none");
	json_raw(&j, "raw", "{\"b\":[1]}");
	json_object_end(&j);
	assert_string_equal(out.data,
		"{\"a\":\"x\",\"list\":[1,[],{},{\"yes\":true,\"no\":false}],"
		"\"none\":null,\"raw\":{\"b\":[1]}}");
}

static void nests_up_to_the_maximum_depth(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json j = json_into(&out);

	(void)state;
	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++) {
		json_array(&j, NULL);
	}
	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++) {
		json_array_end(&j);
	}
	assert_string_equal(out.data, "[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]");
}

static void escapes_texts_and_keys(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "plain /", "\"plain /\"" },
		{ "say \"hi\"", "\"say \\\"hi\\\"\"" },
		{ "back\\slash", "\"back\\\\slash\"" },
		{ "two\nlines", "\"two\\nlines\"" },
		{ "\x01\t\r\x1f", "\"\\u0001\\u0009\\u000d\\u001f\"" },
		{ "K\xc3\xb6ln", "\"K\xc3\xb6ln\"" },
		{ "K\xf6ln", "\"K\xef\xbf\xbdln\"" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1000);
		scoped_buffer struct buffer want = BUFFER_MAX(1000);
		struct json j = json_into(&out);

		json_object(&j, NULL);
		json_string(&j, cases[i].text, cases[i].text);
		json_object_end(&j);
		buffer_printf(&want, "{%s:%s}", cases[i].json, cases[i].json);
		assert_string_equal(out.data, want.data);
	}
}

static void writes_short_numbers(void **state)
{
	static const struct {
		double value;
		const char *json;
	} cases[] = {
		{ 0, "0" },
		{ -3, "-3" },
		{ 0.5, "0.5" },
		{ 0.1 + 0.2, "0.3" },
		{ 1.0 / 3, "0.333333333" },
		{ 68719476736, "68719476736" },
		{ 999999999999999, "999999999999999" },
		{ 1e15, "1e+15" },
		{ -999999999999999, "-999999999999999" },
		{ 1.5e-7, "1.5e-07" },
		{ 123456789.25, "123456789" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1000);
		struct json j = json_into(&out);

		json_number(&j, NULL, cases[i].value);
		assert_string_equal(out.data, cases[i].json);
	}
}

static void whole_numbers_of_64_bits_stay_exact(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json j = json_into(&out);

	(void)state;
	json_array(&j, NULL);
	json_integer(&j, NULL, INT64_MIN);
	json_integer(&j, NULL, INT64_MAX);
	json_unsigned(&j, NULL, UINT64_MAX);
	json_array_end(&j);
	assert_string_equal(out.data,
		"[-9223372036854775808,9223372036854775807,"
		"18446744073709551615]");
}

static void leaves_out_an_unknown_number_with_its_key(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json j = json_into(&out);

	(void)state;
	json_object(&j, NULL);
	json_number(&j, "nan", NAN);
	json_number(&j, "a", 1);
	json_number(&j, "inf", INFINITY);
	json_number(&j, "minus", -INFINITY);
	json_number(&j, "b", 2);
	json_object_end(&j);
	assert_string_equal(out.data, "{\"a\":1,\"b\":2}");
}

static void writes_null_for_an_unknown_number_on_request(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json j = json_into(&out);

	(void)state;
	json_array(&j, NULL);
	json_number_or_null(&j, NULL, NAN);
	json_number_or_null(&j, NULL, 0.25);
	json_number_or_null(&j, NULL, INFINITY);
	json_array_end(&j);
	assert_string_equal(out.data, "[null,0.25,null]");
}

static void reports_overflow_by_the_buffer(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10);
	struct json j = json_into(&out);

	(void)state;
	json_array(&j, NULL);
	for (int i = 0; i < 100; i++) {
		json_string(&j, NULL, "text");
	}
	json_array_end(&j);
	assert_true(out.overflowed);
	assert_true(out.len <= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_commas_and_nesting),
		cmocka_unit_test(nests_up_to_the_maximum_depth),
		cmocka_unit_test(escapes_texts_and_keys),
		cmocka_unit_test(writes_short_numbers),
		cmocka_unit_test(whole_numbers_of_64_bits_stay_exact),
		cmocka_unit_test(leaves_out_an_unknown_number_with_its_key),
		cmocka_unit_test(writes_null_for_an_unknown_number_on_request),
		cmocka_unit_test(reports_overflow_by_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
