#include "scheduler/objects/label_selector.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

static const struct {
	const char *selector;
	bool is_match;	/* of app=web, an empty one and n=5 */
	bool of_nobody; /* of an object without labels */
} cases[] = {
	{ "null", false, false },
	{ "{}", true, true },
	{ "{'matchLabels':{}}", true, true },
	{ "{'matchLabels':{'app':'web'}}", true, false },
	{ "{'matchLabels':{'app':'db'}}", false, false },
	{ "{'matchLabels':{'app':'web','empty':''}}", true, false },
	{ "{'matchLabels':{'app':'web','none':''}}", false, false },
	{ "{'matchExpressions':[{'key':'app','operator':'In','values':['db',"
	  "'web']}]}",
		true, false },
	{ "{'matchExpressions':[{'key':'none','operator':'NotIn','values':["
	  "'x']}]}",
		true, true },
	{ "{'matchExpressions':[{'key':'app','operator':'Exists'}]}", true,
		false },
	{ "{'matchExpressions':[{'key':'app','operator':'DoesNotExist'}]}",
		false, true },
	{ "{'matchLabels':{'app':'web'},'matchExpressions':[{'key':'app',"
	  "'operator':'DoesNotExist'}]}",
		false, false },
	/* What the API server would not let through selects nothing. */
	{ "{'matchExpressions':[{'key':'n','operator':'Gt','values':['1'"
	  "]}]}",
		false, false },
	{ "{'matchExpressions':[{'key':'app','operator':'In'}]}", false,
		false },
	{ "{'matchLabels':{'app':1}}", false, false },
};

static void selects_as_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct names *names = names_new();
		struct value *text = given_json(cases[i].selector);
		struct value *object =
			given_json("{'app':'web','empty':'','n':'5'}");
		struct label_selector selector;
		struct labels labels;

		assert_int_equal(
			label_selector_read(&selector, names, text, NULL), 0);
		assert_int_equal(labels_read(&labels, names, object, NULL), 0);
		given_check(label_selector_matches(&selector, names, &labels) ==
				cases[i].is_match,
			cases[i].selector);
		given_check(label_selector_matches(&selector, names, NULL) ==
				cases[i].of_nobody,
			cases[i].selector);
		labels_fini(&labels, names);
		label_selector_fini(&selector, names);
		value_free(text);
		value_free(object);
		names_free(names);
	}
}

/* A selector, and one more label it must have. */
static bool with_one_more(const char *json, const char *labels_json)
{
	struct names *names = names_new();
	struct value *text = given_json(json);
	struct value *object = given_json(labels_json);
	uint32_t key = names_hold(names, "v");
	uint32_t value = names_hold(names, "2");
	struct label_selector selector;
	struct labels labels;
	bool matches;

	assert_int_equal(label_selector_read(&selector, names, text, NULL), 0);
	assert_int_equal(labels_read(&labels, names, object, NULL), 0);
	label_selector_add(&selector, names, key, value);
	assert_false(label_selector_is_empty(&selector));
	matches = label_selector_matches(&selector, names, &labels);
	labels_fini(&labels, names);
	label_selector_fini(&selector, names);
	value_free(text);
	value_free(object);
	names_free(names);
	return matches;
}

static void wants_what_was_added_too(void **state)
{
	(void)state;
	assert_true(with_one_more("{'matchLabels':{'app':'web'}}",
		"{'app':'web','v':'2'}"));
	assert_false(with_one_more("{'matchLabels':{'app':'web'}}",
		"{'app':'web','v':'1'}"));
	assert_true(with_one_more("{}", "{'v':'2'}"));
	assert_false(with_one_more("null", "{'v':'2'}"));
}

static void limits_what_it_reads(void **state)
{
	struct names *names = names_new();
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct label_selector selector = { 0 };
	struct value *object;
	struct error err;

	(void)state;
	buffer_text(&text, "{'matchExpressions':[{}");
	for (int i = 0; i < LABEL_SELECTOR_REQUIREMENTS_MAX; i++) {
		buffer_text(&text, ",{}");
	}
	buffer_text(&text, "]}");
	object = given_json(text.data);
	assert_int_equal(label_selector_read(&selector, names, object, &err),
		-E2BIG);
	assert_non_null(strstr(err.text, "requirements"));
	value_free(object);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selects_as_upstream),
		cmocka_unit_test(wants_what_was_added_too),
		cmocka_unit_test(limits_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
