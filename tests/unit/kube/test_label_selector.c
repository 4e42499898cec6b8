#include "kube/label_selector.h"

#include "lib/buffer.h"
#include "tests/support/given_json.h"

static const struct {
	const char *selector;
	bool is_match;	    /* app=web, an empty label and n=5 */
	bool of_unlabelled; /* an object without labels */
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
	/* Selectors that the API server rejects select nothing. */
	{ "{'matchExpressions':[{'key':'n','operator':'Gt','values':['1'"
	  "]}]}",
		false, false },
	{ "{'matchExpressions':[{'key':'app','operator':'In'}]}", false,
		false },
	{ "{'matchLabels':{'app':1}}", false, false },
};

static void selects_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct interner *interner = interner_new();
		struct json_value *text = given_json(cases[i].selector);
		struct json_value *object =
			given_json("{'app':'web','empty':'','n':'5'}");
		struct label_selector selector;
		struct labels labels;

		label_selector_read(&selector, interner, text);
		assert_int_equal(labels_read(&labels, interner, object, NULL),
			0);
		given_check(label_selector_matches(&selector, interner,
				    &labels) == cases[i].is_match,
			cases[i].selector);
		given_check(label_selector_matches(&selector, interner, NULL) ==
				cases[i].of_unlabelled,
			cases[i].selector);
		labels_fini(&labels, interner);
		label_selector_fini(&selector, interner);
		json_value_free(text);
		json_value_free(object);
		interner_free(interner);
	}
}

/* A selector with one more required label. */
static bool with_one_more(const char *json, const char *labels_json)
{
	struct interner *interner = interner_new();
	struct json_value *text = given_json(json);
	struct json_value *object = given_json(labels_json);
	struct label_selector selector;
	struct labels labels;
	bool matches;

	label_selector_read(&selector, interner, text);
	assert_int_equal(labels_read(&labels, interner, object, NULL), 0);
	label_selector_add(&selector, interner, "v", "2");
	assert_false(label_selector_is_empty(&selector));
	matches = label_selector_matches(&selector, interner, &labels);
	labels_fini(&labels, interner);
	label_selector_fini(&selector, interner);
	json_value_free(text);
	json_value_free(object);
	interner_free(interner);
	return matches;
}

static void requires_an_added_label(void **state)
{
	(void)state;
	assert_true(with_one_more("{'matchLabels':{'app':'web'}}",
		"{'app':'web','v':'2'}"));
	assert_false(with_one_more("{'matchLabels':{'app':'web'}}",
		"{'app':'web','v':'1'}"));
	assert_true(with_one_more("{}", "{'v':'2'}"));
	assert_false(with_one_more("null", "{'v':'2'}"));
}

/* The values 1 to count of the key n. */
static bool is_among(int count, const char *labels_json)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct interner *interner = interner_new();
	struct json_value *object = given_json(labels_json);
	struct json_value *json;
	struct label_selector selector;
	struct labels labels;
	bool matches;

	buffer_text(&text,
		"{'matchExpressions':[{'key':'n','operator':'In','values':['"
		"1'");
	for (int i = 2; i <= count; i++) {
		buffer_printf(&text, ",'%d'", i);
	}
	buffer_text(&text, "]}]}");
	json = given_json(text.data);
	label_selector_read(&selector, interner, json);
	assert_int_equal(labels_read(&labels, interner, object, NULL), 0);
	matches = label_selector_matches(&selector, interner, &labels);
	labels_fini(&labels, interner);
	label_selector_fini(&selector, interner);
	json_value_free(json);
	json_value_free(object);
	interner_free(interner);
	return matches;
}

static void finds_a_value_among_any_number(void **state)
{
	(void)state;
	assert_true(is_among(16, "{'n':'16'}"));
	assert_true(is_among(17, "{'n':'17'}"));
	assert_true(is_among(20000, "{'n':'1'}"));
	assert_true(is_among(20000, "{'n':'20000'}"));
	assert_false(is_among(20000, "{'n':'20001'}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selects_like_upstream),
		cmocka_unit_test(requires_an_added_label),
		cmocka_unit_test(finds_a_value_among_any_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
