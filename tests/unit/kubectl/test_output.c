#include "kubectl/output.h"

#include "kube/json_value.h"
#include "kubectl/flags.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void each_format_has_its_word(void **state)
{
	static const struct {
		const char *word;
		enum output output;
		bool is_table;
	} cases[] = {
		{ NULL, OUTPUT_TABLE, true },
		{ "", OUTPUT_TABLE, true },
		{ "wide", OUTPUT_WIDE, true },
		{ "json", OUTPUT_JSON, false },
		{ "yaml", OUTPUT_YAML, false },
		{ "name", OUTPUT_NAME, false },
	};
	struct flags flags = { 0 };
	struct error err;
	enum output output;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		flags.values[FLAG_OUTPUT] = cases[i].word;
		output = OUTPUT_NAME;
		assert_int_equal(output_of(&output, &flags, NULL), 0);
		assert_int_equal(output, cases[i].output);
		assert_int_equal(output_is_table(output), cases[i].is_table);
	}
	flags.values[FLAG_OUTPUT] = "xml";
	assert_int_equal(output_of(&output, &flags, &err), -EINVAL);
	assert_non_null(strstr(err.text, "output format \"xml\""));
}

static const char *text_at(const void *list, unsigned long i)
{
	return ((char *const *)list)[i];
}

/* A list of this many nodes, n0 and so on. */
static char *list_of(enum output output, unsigned long count)
{
	struct buffer out = BUFFER_MAX(4096);
	char *texts[2] = { NULL };

	for (unsigned long i = 0; i < count; i++) {
		scoped_free char *json = xasprintf(
			"{\"apiVersion\":\"load.io/v1\",\"kind\":\"NodeLoad\","
			"\"metadata\":{\"name\":\"n%lu\"}}",
			i);
		struct json_value *object;

		assert_int_equal(
			json_value_parse(&object, json, strlen(json), NULL), 0);
		texts[i] = output_item(output, object);
		assert_int_equal(texts[i] == NULL, output_is_table(output));
		json_value_free(object);
	}
	if (!output_is_table(output)) {
		output_list(&out, output, texts, count, text_at);
	}
	buffer_char(&out, '\0');
	free(texts[0]);
	free(texts[1]);
	return out.data;
}

static void a_list_is_printed_as_by_kubectl(void **state)
{
	static const struct {
		enum output output;
		unsigned long count;
		const char *text;
	} cases[] = {
		{ OUTPUT_TABLE, 2, "" },
		{ OUTPUT_WIDE, 1, "" },
		{ OUTPUT_NAME, 0, "" },
		{ OUTPUT_NAME, 2,
			"nodeload.load.io/n0\n"
			"nodeload.load.io/n1\n" },
		{ OUTPUT_YAML, 0,
			"apiVersion: v1\nitems: []\nkind: List\nmetadata:\n"
			"  resourceVersion: \"\"\n" },
		{ OUTPUT_YAML, 2,
			"apiVersion: v1\nitems:\n"
			"- apiVersion: load.io/v1\n  kind: NodeLoad\n"
			"  metadata:\n    name: n0\n"
			"- apiVersion: load.io/v1\n  kind: NodeLoad\n"
			"  metadata:\n    name: n1\n"
			"kind: List\nmetadata:\n  resourceVersion: \"\"\n" },
		{ OUTPUT_JSON, 0,
			"{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n"
			"    \"kind\": \"List\",\n    \"metadata\": {\n"
			"        \"resourceVersion\": \"\"\n    }\n}\n" },
		{ OUTPUT_JSON, 1,
			"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n"
			"        {\n"
			"            \"apiVersion\": \"load.io/v1\",\n"
			"            \"kind\": \"NodeLoad\",\n"
			"            \"metadata\": {\n"
			"                \"name\": \"n0\"\n"
			"            }\n"
			"        }\n"
			"    ],\n"
			"    \"kind\": \"List\",\n    \"metadata\": {\n"
			"        \"resourceVersion\": \"\"\n    }\n}\n" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			list_of(cases[i].output, cases[i].count);

		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_has_its_word),
		cmocka_unit_test(a_list_is_printed_as_by_kubectl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
