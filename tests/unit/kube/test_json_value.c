#include "kube/json_value.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static struct json_value *parsed(const char *text)
{
	struct json_value *value = NULL;

	assert_int_equal(json_value_parse(&value, text, strlen(text), NULL), 0);
	return value;
}

static void keys_are_case_sensitive(void **state)
{
	struct json_value *root = parsed("{\"Name\":\"a\",\"name\":\"b\"}");

	(void)state;
	assert_string_equal(json_value_text(json_value_get(root, "name")), "b");
	assert_null(json_value_get(root, "NAME"));
	assert_null(json_value_get(root, "nam"));
	assert_null(json_value_get(root, "names"));
	json_value_free(root);
}

static void a_path_may_have_missing_parts(void **state)
{
	struct json_value *root =
		parsed("{\"spec\":{\"nodeName\":\"n1\",\"list\":[{\"a\":1}]}}");

	(void)state;
	assert_string_equal(json_value_text_at(root, "spec/nodeName", "-"),
		"n1");
	assert_string_equal(json_value_text_at(root, "spec/none", "-"), "-");
	assert_string_equal(json_value_text_at(root, "none/nodeName", "-"),
		"-");
	assert_string_equal(json_value_text_at(root, "spec/nodeName/x", "-"),
		"-");
	assert_null(json_value_at(root, "spec/list/a"));
	assert_null(json_value_at(NULL, "spec"));
	json_value_free(root);
}

static void iterates_in_order(void **state)
{
	struct json_value *root = parsed("{\"b\":[1,2],\"a\":null}");
	const struct json_value *member = json_value_first(root);

	(void)state;
	assert_int_equal(json_value_count(root), 2);
	assert_string_equal(json_value_key(member), "b");
	assert_int_equal(json_value_count(member), 2);
	assert_null(json_value_key(json_value_first(member)));
	member = json_value_next(member);
	assert_string_equal(json_value_key(member), "a");
	assert_true(json_value_is_null(member));
	assert_null(json_value_next(member));
	assert_null(json_value_first(NULL));
	assert_int_equal(json_value_count(NULL), 0);
	json_value_free(root);
}

static void returns_numbers_only_for_numbers(void **state)
{
	struct json_value *root =
		parsed("[3000000000,\"1\",1e999,true,-2.5,{\"a\":\"b\"}]");
	const struct json_value *at = json_value_first(root);
	double number = 7;

	(void)state;
	assert_true(json_value_number(&number, at));
	assert_true(number == 3e9);
	number = 7;
	at = json_value_next(at);
	assert_false(json_value_number(&number, at));
	at = json_value_next(at);
	assert_false(json_value_number(&number, at));
	at = json_value_next(at);
	assert_false(json_value_number(&number, at));
	assert_true(json_value_true(at));
	assert_true(number == 7);
	at = json_value_next(at);
	assert_true(json_value_number(&number, at));
	assert_true(number == -2.5);
	assert_false(json_value_true(at));
	at = json_value_next(at);
	assert_true(json_value_is_object(at));
	assert_false(json_value_is_array(at));
	assert_null(json_value_text(at));
	json_value_free(root);
}

static void reads_no_byte_beyond_the_length(void **state)
{
	/* No NUL at the end: the sanitizer detects a read beyond it. */
	scoped_free char *text = xmemdup("{\"a\":12}9", 8);
	struct json_value *root = NULL;

	(void)state;
	assert_int_equal(json_value_parse(&root, text, 8, NULL), 0);
	json_value_free(root);
	for (size_t len = 0; len < 8; len++) {
		scoped_free char *part = xmemdup(text, len);

		assert_int_equal(json_value_parse(&root, part, len, NULL),
			-EBADMSG);
	}
}

static void space_around_a_value_is_no_other_value(void **state)
{
	static const char *const texts[] = { "{}", "{} ", "{}\n", "{}\r\n\t ",
		" {} " };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct json_value *value = NULL;

		assert_int_equal(json_value_parse(&value, texts[i],
					 strlen(texts[i]), NULL),
			0);
		json_value_free(value);
	}
}

static void refuses_anything_but_one_json_value(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *sentence;
	} cases[] = {
		{ "", 0, "byte 0" },
		{ "{\"a\":}", 6, "byte 5" },
		{ "{} {}", 5, "more than one" },
		{ "1 x", 3, "more than one" },
		{ "{}\0", 3, "more than one" },
		{ "'a'", 3, "byte 0" },
	};
	struct json_value *root = NULL;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(json_value_parse(&root, cases[i].text,
					 cases[i].len, &err),
			-EBADMSG);
		assert_non_null(strstr(err.text, cases[i].sentence));
		assert_null(root);
	}
}

static void limits_nesting(void **state)
{
	char text[2000];
	struct json_value *root = NULL;

	(void)state;
	memset(text, '[', sizeof(text));
	assert_int_equal(json_value_parse(&root, text, sizeof(text), NULL),
		-EBADMSG);
}

/* "[0,0,...]" with this many zeros. */
static char *zeros(size_t count)
{
	char *text = xcalloc(2 * count + 2, 1);

	for (size_t i = 0; i < count; i++) {
		text[2 * i] = i == 0 ? '[' : ',';
		text[2 * i + 1] = '0';
	}
	text[2 * count] = ']';
	return text;
}

static int parse_bounded(const char *text, struct error *err)
{
	struct json_value *value = NULL;
	int r = json_value_parse_bounded(&value, text, strlen(text), err);

	json_value_free(value);
	return r;
}

static void a_bounded_text_has_no_more_values_than_allowed(void **state)
{
	scoped_free char *most = zeros(JSON_VALUES_MAX - 1);
	scoped_free char *more = zeros(JSON_VALUES_MAX);
	scoped_free char *nested = zeros(JSON_VALUES_MAX);
	struct error err;

	(void)state;
	assert_int_equal(parse_bounded(most, NULL), 0);
	assert_int_equal(parse_bounded(more, &err), -E2BIG);
	assert_string_equal(err.text, "more than 100000 JSON values");
	/* Containers count as well, and need no end. */
	memset(nested, '{', JSON_VALUES_MAX);
	assert_int_equal(parse_bounded(nested, NULL), -E2BIG);
	memset(nested, '[', JSON_VALUES_MAX);
	assert_int_equal(parse_bounded(nested, NULL), -E2BIG);
	assert_int_equal(parse_bounded("[0", NULL), -EBADMSG);
}

static void commas_in_a_text_are_no_values(void **state)
{
	scoped_free char *text = xcalloc(JSON_VALUES_MAX + 3, 1);

	(void)state;
	memset(text, ',', JSON_VALUES_MAX + 2);
	text[0] = '"';
	text[1] = '\\';
	text[2] = '"';
	text[JSON_VALUES_MAX + 1] = '"';
	assert_int_equal(parse_bounded(text, NULL), 0);
	text[2] = '\\';
	text[3] = '"';
	assert_int_equal(parse_bounded(text, NULL), -EBADMSG);
}

/* Two bytes of text for each value: far more memory than expected. */
static void a_tree_of_many_small_values_is_whole(void **state)
{
	enum { COUNT = 50000 };
	scoped_buffer struct buffer text = BUFFER_MAX((size_t)4 * COUNT);
	struct json_value *root = NULL;
	const struct json_value *value;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		buffer_text(&text, i == 0 ? "[1" : ",1");
	}
	buffer_text(&text, "]");
	assert_int_equal(json_value_parse(&root, text.data, text.len, NULL), 0);
	for (value = json_value_first(root); value != NULL;
		value = json_value_next(value)) {
		double number = 0;

		assert_true(json_value_number(&number, value));
		assert_true(number == 1);
		count++;
	}
	assert_int_equal(count, COUNT);
	json_value_free_secret(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_case_sensitive),
		cmocka_unit_test(a_path_may_have_missing_parts),
		cmocka_unit_test(iterates_in_order),
		cmocka_unit_test(returns_numbers_only_for_numbers),
		cmocka_unit_test(reads_no_byte_beyond_the_length),
		cmocka_unit_test(space_around_a_value_is_no_other_value),
		cmocka_unit_test(refuses_anything_but_one_json_value),
		cmocka_unit_test(limits_nesting),
		cmocka_unit_test(
			a_bounded_text_has_no_more_values_than_allowed),
		cmocka_unit_test(commas_in_a_text_are_no_values),
		cmocka_unit_test(a_tree_of_many_small_values_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
