#include "scheduler/objects/node_selector.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

static const char labels_json[] =
	"{'zone':'a','cores':'16','plus':'+16','big':'99999999999999999999',"
	"'word':'x1','empty':''}";

/* A node called n1 with the labels above matches. */
static bool matches(const char *list_json, bool is_preferred, int64_t *weight)
{
	struct interner *interner = interner_new();
	struct json_value *labels_value = given_json(labels_json);
	struct json_value *list = given_json(list_json);
	struct labels labels;
	struct node_selector terms;
	struct requirement_subject node = { .interner = interner,
		.labels = &labels };
	bool result;

	assert_int_equal(labels_read(&labels, interner, labels_value, NULL), 0);
	assert_int_equal(
		node_selector_read(&terms, interner, list, is_preferred, NULL),
		0);
	node.name = interner_hold(interner, "n1");
	result = node_selector_matches(&terms, &node);
	*weight = node_selector_weight(&terms, &node);
	node_selector_fini(&terms, interner);
	labels_fini(&labels, interner);
	interner_drop(interner, node.name);
	json_value_free(list);
	json_value_free(labels_value);
	interner_free(interner);
	return result;
}

/* The table of apimachinery's labels.Requirement.Matches(). */
static const struct {
	const char *expression; /* key, operator, values */
	bool is_match;
} expressions[] = {
	{ "'key':'zone','operator':'In','values':['b','a']", true },
	{ "'key':'zone','operator':'In','values':['b']", false },
	{ "'key':'none','operator':'In','values':['']", false },
	{ "'key':'empty','operator':'In','values':['']", true },
	{ "'key':'zone','operator':'NotIn','values':['b']", true },
	{ "'key':'zone','operator':'NotIn','values':['a']", false },
	{ "'key':'none','operator':'NotIn','values':['a']", true },
	{ "'key':'zone','operator':'Exists'", true },
	{ "'key':'empty','operator':'Exists','values':[]", true },
	{ "'key':'none','operator':'Exists'", false },
	{ "'key':'zone','operator':'DoesNotExist'", false },
	{ "'key':'none','operator':'DoesNotExist'", true },
	{ "'key':'cores','operator':'Gt','values':['15']", true },
	{ "'key':'cores','operator':'Gt','values':['16']", false },
	{ "'key':'cores','operator':'Gt','values':['-1']", true },
	{ "'key':'plus','operator':'Gt','values':['15']", true },
	{ "'key':'cores','operator':'Lt','values':['17']", true },
	{ "'key':'cores','operator':'Lt','values':['16']", false },
	{ "'key':'word','operator':'Gt','values':['0']", false },
	{ "'key':'word','operator':'Lt','values':['9']", false },
	{ "'key':'big','operator':'Gt','values':['0']", false },
	{ "'key':'empty','operator':'Lt','values':['9']", false },
	{ "'key':'none','operator':'Gt','values':['0']", false },
	/* Terms that are invalid upstream match nothing. */
	{ "'key':'zone','operator':'In','values':[]", false },
	{ "'key':'none','operator':'NotIn'", false },
	{ "'key':'zone','operator':'Exists','values':['a']", false },
	{ "'key':'none','operator':'DoesNotExist','values':['a']", false },
	{ "'key':'cores','operator':'Gt','values':['1','2']", false },
	{ "'key':'cores','operator':'Gt','values':['one']", false },
	{ "'key':'zone','operator':'in','values':['a']", false },
	{ "'key':'','operator':'DoesNotExist'", false },
	{ "'operator':'DoesNotExist'", false },
	{ "'key':'none','operator':'NotIn','values':[7]", false },
};

static void matches_expressions_like_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(expressions); i++) {
		scoped_free char *list =
			xasprintf("[{'matchExpressions':[{%s}]}]",
				expressions[i].expression);
		int64_t weight;

		given_check(matches(list, false, &weight) ==
				expressions[i].is_match,
			expressions[i].expression);
	}
}

static const struct {
	const char *field;
	bool is_match;
} fields[] = {
	{ "'key':'metadata.name','operator':'In','values':['n1']", true },
	{ "'key':'metadata.name','operator':'In','values':['n2']", false },
	{ "'key':'metadata.name','operator':'NotIn','values':['n2']", true },
	{ "'key':'metadata.name','operator':'NotIn','values':['n1']", false },
	{ "'key':'metadata.name','operator':'In',"
	  "'values':['n1','n2']",
		false },
	{ "'key':'metadata.name','operator':'Exists'", false },
	{ "'key':'spec.x','operator':'In','values':['n1']", false },
};

static void matches_fields_by_name_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(fields); i++) {
		scoped_free char *list =
			xasprintf("[{'matchFields':[{%s}]}]", fields[i].field);
		int64_t weight;

		given_check(matches(list, false, &weight) == fields[i].is_match,
			fields[i].field);
	}
}

#define YES "{'key':'zone','operator':'Exists'}"
#define NO "{'key':'none','operator':'Exists'}"
#define BAD "{'key':'zone','operator':'what'}"
static const struct {
	const char *list;
	bool is_match;
} lists[] = {
	{ "[]", false },
	{ "[{}]", false },
	{ "[{'matchExpressions':[]}]", false },
	{ "[{'matchExpressions':[" YES "," NO "]}]", false },
	{ "[{'matchExpressions':[" NO "]},{'matchExpressions':[" YES "]}]",
		true },
	{ "[{'matchExpressions':[" YES "," BAD "]}]", false },
	{ "[{'matchExpressions':[" BAD "]},{'matchExpressions':[" YES "]}]",
		true },
	{ "[{'matchExpressions':[" YES "],'matchFields':[{'key':"
	  "'metadata.name','operator':'In','values':['n2']}]}]",
		false },
};

static void ors_terms_and_ands_requirements(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(lists); i++) {
		int64_t weight;

		given_check(matches(lists[i].list, false, &weight) ==
				lists[i].is_match,
			lists[i].list);
	}
}

static void sums_the_weights_of_preferred_terms(void **state)
{
	int64_t weight;

	(void)state;
	(void)matches("[{'weight':10,'preference':{'matchExpressions':[" YES
		      "]}},{'weight':5,'preference':{'matchExpressions':[" YES
		      "]}},{'weight':50,'preference':{'matchExpressions':[" NO
		      "]}},{'weight':7,'preference':{}},"
		      "{'weight':0,'preference':{'matchExpressions':[" YES
		      "]}}]",
		true, &weight);
	assert_int_equal(weight, 15);
}

static void rejects_what_is_not_a_list(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *list = given_json("{'a':1}");
	struct node_selector terms;

	(void)state;
	assert_int_equal(
		node_selector_read(&terms, interner, list, false, NULL),
		-EBADMSG);
	json_value_free(list);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_expressions_like_upstream),
		cmocka_unit_test(matches_fields_by_name_only),
		cmocka_unit_test(ors_terms_and_ands_requirements),
		cmocka_unit_test(sums_the_weights_of_preferred_terms),
		cmocka_unit_test(rejects_what_is_not_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
