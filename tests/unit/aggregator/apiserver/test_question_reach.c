#include "aggregator/apiserver/question_reach.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/given_json.h"

#include <string.h>

/* "bank depot", "*" for all, "" for none. ' stands for the quotes of JSON. */
static void expect_reach(const char *quotes, const char *expected)
{
	scoped_buffer struct buffer names = BUFFER_MAX(1024);
	scoped_free char *json = given_quotes(quotes);
	struct question_reach reach;

	question_reach_read(&reach, json, strlen(json), "shop");
	buffer_text(&names, "");
	for (size_t i = 0; i < question_reach_reviews(&reach); i++) {
		const char *name = question_reach_namespace(&reach, i);

		buffer_printf(&names, "%s%s", i > 0 ? " " : "",
			*name == '\0' ? "*" : name);
	}
	assert_string_equal(names.data != NULL ? names.data : "", expected);
	question_reach_fini(&reach);
}

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution':"
#define PREFERRED "'preferredDuringSchedulingIgnoredDuringExecution':"
#define AFFINITY(pods) "'spec':{'affinity':{" pods "}}"
#define OBJECT(spec) "{'object':{'kind':'Pod'," spec "}}"

static void terms_name_the_namespaces_that_they_look_into(void **state)
{
	(void)state;
	expect_reach("{'vmName':'web'}", "");
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaces':['bank','shop']},"
				     "{'namespaces':['depot','bank']}]}")),
		"bank depot");
	expect_reach(OBJECT(AFFINITY("'podAntiAffinity':{" PREFERRED
				     "[{'weight':1,'podAffinityTerm':{"
				     "'namespaces':['bank']}}]}")),
		"bank");
	/* A VirtualMachine has a template. */
	expect_reach(OBJECT("'spec':{'template':{" AFFINITY(
			     "'podAffinity':{" REQUIRED
			     "[{'namespaces':['bank']}]}") "}}"),
		"bank");
}

static void a_term_without_namespaces_is_about_its_own(void **state)
{
	(void)state;
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaceSelector':null,"
				     "'namespaces':[]},{}]}")),
		"");
}

static void a_selector_may_select_any_namespace(void **state)
{
	(void)state;
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaces':['bank']},"
				     "{'namespaceSelector':{}}]}")),
		"*");
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaceSelector':{'matchLabels':{"
				     "'a':'b'}}}]}")),
		"*");
	expect_reach("{", "*");
}

static void many_names_are_as_all(void **state)
{
	(void)state;
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaces':['a','b','c','d','e','f',"
				     "'g','h']}]}")),
		"a b c d e f g h");
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaces':['a','b','c','d','e','f',"
				     "'g','h','i']}]}")),
		"*");
}

static void a_name_that_no_namespace_has_needs_no_review(void **state)
{
	(void)state;
	expect_reach(OBJECT(AFFINITY("'podAffinity':{" REQUIRED
				     "[{'namespaces':['','A/b',7]}]}")),
		"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_name_the_namespaces_that_they_look_into),
		cmocka_unit_test(a_term_without_namespaces_is_about_its_own),
		cmocka_unit_test(a_selector_may_select_any_namespace),
		cmocka_unit_test(many_names_are_as_all),
		cmocka_unit_test(a_name_that_no_namespace_has_needs_no_review),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
