#include "kube/yaml.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct json_value *parsed(const char *text)
{
	struct json_value *value = NULL;
	struct error err = { 0 };

	if (yaml_parse(&value, text, strlen(text), &err) < 0) {
		fail_msg("%s", err.text);
	}
	return value;
}

static void expect_part(const char *text, const char *part)
{
	if (strstr(text, part) == NULL) {
		fail_msg("'%s' is not in: %s", part, text);
	}
}

static void plain_scalars_have_the_types_of_json(void **state)
{
	struct json_value *root =
		parsed("{t: true, f: false, n: null, tilde: ~, empty: , i: 12, "
		       "d: -1.5e3, octal: 0755, yes: yes, on: on, True: True, "
		       "quoted: '12', dot: 1., exp: 1e, minus: -, ver: 1.2.3}");
	static const struct {
		const char *key;
		const char *text;
	} texts[] = {
		{ "octal", "0755" },
		{ "yes", "yes" },
		{ "on", "on" },
		{ "True", "True" },
		{ "quoted", "12" },
		{ "dot", "1." },
		{ "exp", "1e" },
		{ "minus", "-" },
		{ "ver", "1.2.3" },
	};
	double number = 0;

	(void)state;
	assert_true(json_value_true(json_value_get(root, "t")));
	assert_non_null(json_value_get(root, "f"));
	assert_false(json_value_true(json_value_get(root, "f")));
	assert_null(json_value_text(json_value_get(root, "f")));
	assert_true(json_value_is_null(json_value_get(root, "n")));
	assert_true(json_value_is_null(json_value_get(root, "tilde")));
	assert_true(json_value_is_null(json_value_get(root, "empty")));
	assert_true(json_value_number(&number, json_value_get(root, "i")));
	assert_true(number == 12);
	assert_true(json_value_number(&number, json_value_get(root, "d")));
	assert_true(number == -1500);
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_string_equal(json_value_text_at(root, texts[i].key, "?"),
			texts[i].text);
	}
	json_value_free(root);
}

static void keeps_nesting_and_order(void **state)
{
	struct json_value *root =
		parsed("users:\n"
		       "- name: a\n"
		       "  user: {token: x}\n"
		       "- name: b\n"
		       "  list: [1, [2], {}]\n"
		       "kind: Config\n");
	const struct json_value *entry =
		json_value_first(json_value_get(root, "users"));

	(void)state;
	assert_int_equal(json_value_count(root), 2);
	assert_string_equal(json_value_text_at(entry, "user/token", "?"), "x");
	entry = json_value_next(entry);
	assert_string_equal(json_value_text_at(entry, "name", "?"), "b");
	assert_int_equal(json_value_count(json_value_get(entry, "list")), 3);
	assert_string_equal(json_value_text_at(root, "kind", "?"), "Config");
	json_value_free(root);
}

static void reads_json_and_empty_text(void **state)
{
	struct json_value *root = parsed("{\"a\": [\"b\", 1, true]}");

	(void)state;
	assert_int_equal(json_value_count(json_value_get(root, "a")), 3);
	json_value_free(root);
	root = parsed("");
	assert_true(json_value_is_null(root));
	json_value_free(root);
	root = parsed("# nothing\n");
	assert_true(json_value_is_null(root));
	json_value_free(root);
}

static void refuses_unsupported_yaml(void **state)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "a: &x [1]\nb: *x\n", "line 2: aliases" },
		{ "a: 1\nb: 2\na: 3\n", "line 3: duplicate key" },
		{ "{a: {b: 1, b: 2}}", "line 1: duplicate key" },
		{ "? [1]\n: 2\n", "line 1: a key is not a scalar" },
		{ "? {a: b}\n: 2\n", "line 1: a key is not a scalar" },
		{ "a: 1\n---\nb: 2\n", "line 2: more than one document" },
		{ "a: !!binary aGk=\n", "line 1: tags" },
		{ "a: !x {b: c}\n", "line 1: tags" },
		{ "a: \"b\\0c\"\n", "line 1: a string contains NUL" },
		{ "a: [1\nb: 2\n", "line 2: did not find expected" },
		{ "a: b\n\tc: d\n", "line 2" },
	};
	struct json_value *root = NULL;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(yaml_parse(&root, cases[i].text,
					 strlen(cases[i].text), &err),
			-EBADMSG);
		expect_part(err.text, cases[i].sentence);
		assert_null(root);
	}
}

static void accepts_nesting_up_to_the_limit(void **state)
{
	char text[2 * YAML_DEPTH_MAX + 2];
	struct json_value *root = NULL;
	struct error err;

	(void)state;
	memset(text, '[', YAML_DEPTH_MAX);
	memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
	assert_int_equal(
		yaml_parse(&root, text, 2 * (size_t)YAML_DEPTH_MAX, NULL), 0);
	json_value_free(root);
	root = NULL;
	memset(text, '[', YAML_DEPTH_MAX + 1);
	memset(text + YAML_DEPTH_MAX + 1, ']', YAML_DEPTH_MAX + 1);
	assert_int_equal(yaml_parse(&root, text, sizeof(text), &err), -E2BIG);
	assert_string_equal(err.text, "line 1: nested too deeply");
}

static void limits_the_number_of_nodes(void **state)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct json_value *root = NULL;
	struct error err;

	(void)state;
	for (int i = 0; i < YAML_NODES_MAX; i++) {
		buffer_text(&text, "- a\n");
	}
	assert_int_equal(yaml_parse(&root, text.data, text.len, &err), -E2BIG);
	assert_non_null(strstr(err.text, "too many nodes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_scalars_have_the_types_of_json),
		cmocka_unit_test(keeps_nesting_and_order),
		cmocka_unit_test(reads_json_and_empty_text),
		cmocka_unit_test(refuses_unsupported_yaml),
		cmocka_unit_test(accepts_nesting_up_to_the_limit),
		cmocka_unit_test(limits_the_number_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
