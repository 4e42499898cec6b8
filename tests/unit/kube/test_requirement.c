#include "kube/requirement.h"

#include "lib/memory.h"
#include "tests/support/given_json.h"

static struct interner *interner;

static int setup(void **state)
{
	(void)state;
	interner = interner_new();
	return 0;
}

/* All that a test held is dropped. */
static int teardown(void **state)
{
	(void)state;
	assert_int_equal(interner_find(interner, "a"), 0);
	assert_int_equal(interner_find(interner, "z"), 0);
	assert_int_equal(interner_find(interner, "1"), 0);
	assert_int_equal(interner_find(interner, "n"), 0);
	interner_free(interner);
	return 0;
}

/* Whether a node of this name with these labels matches. */
static bool matches(const char *json, enum requirement_kind kind,
	const char *labels_json, const char *name)
{
	struct json_value *object = given_json(json);
	struct json_value *pairs = given_json(labels_json);
	struct requirement r = { 0 };
	struct labels labels;
	uint32_t id = interner_hold(interner, name);
	bool answer;

	assert_true(requirement_read(&r, interner, object, kind));
	assert_int_equal(labels_read(&labels, interner, pairs, NULL), 0);
	answer = requirement_matches(&r,
		&(const struct requirement_subject){ interner, &labels, id });
	labels_fini(&labels, interner);
	requirement_fini(&r, interner);
	interner_drop(interner, id);
	json_value_free(pairs);
	json_value_free(object);
	return answer;
}

static void labels_match_as_those_of_apimachinery_do(void **state)
{
	static const struct {
		const char *json, *labels;
		bool matches;
	} cases[] = {
		{ "'In','values':['1','2']", "{'a':'2'}", true },
		{ "'In','values':['1','2']", "{'a':'3'}", false },
		{ "'In','values':['1','2']", "{'b':'1'}", false },
		{ "'NotIn','values':['1','2']", "{'a':'2'}", false },
		{ "'NotIn','values':['1','2']", "{'a':'3'}", true },
		{ "'NotIn','values':['1','2']", "{}", true },
		{ "'Exists'", "{'a':''}", true },
		{ "'Exists'", "{'b':''}", false },
		{ "'DoesNotExist'", "{'a':''}", false },
		{ "'DoesNotExist'", "{'b':''}", true },
		{ "'Gt','values':['7']", "{'a':'8'}", true },
		{ "'Gt','values':['7']", "{'a':'7'}", false },
		{ "'Gt','values':['7']", "{'a':'-8'}", false },
		{ "'Gt','values':['7']", "{'a':'x'}", false },
		{ "'Gt','values':['7']", "{}", false },
		{ "'Lt','values':['7']", "{'a':'6'}", true },
		{ "'Lt','values':['7']", "{'a':'7'}", false },
		{ "'Lt','values':['7']", "{'a':'x'}", false },
		{ "'Lt','values':['7']", "{}", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *json =
			xasprintf("{'key':'a','operator':%s}", cases[i].json);

		assert_int_equal(matches(json, REQUIREMENT_OF_LABEL,
					 cases[i].labels, "n"),
			cases[i].matches);
	}
}

static void a_field_is_the_name_of_the_node(void **state)
{
	static const char in[] =
		"{'key':'metadata.name','operator':'In','values':['n']}";
	static const char not_in[] =
		"{'key':'metadata.name','operator':'NotIn','values':['n']}";

	(void)state;
	assert_true(matches(in, REQUIREMENT_OF_FIELD, "{}", "n"));
	assert_false(matches(in, REQUIREMENT_OF_FIELD, "{}", "m"));
	assert_false(matches(not_in, REQUIREMENT_OF_FIELD, "{}", "n"));
	assert_true(matches(not_in, REQUIREMENT_OF_FIELD, "{}", "m"));
}

static void a_topology_is_a_list_of_values(void **state)
{
	(void)state;
	assert_true(matches("{'key':'z','values':['1','2']}",
		REQUIREMENT_OF_TOPOLOGY, "{'z':'1'}", "n"));
	assert_false(matches("{'key':'z','values':['1','2']}",
		REQUIREMENT_OF_TOPOLOGY, "{'z':'3'}", "n"));
}

static void what_upstream_refuses_is_invalid(void **state)
{
	static const struct {
		enum requirement_kind kind;
		const char *json;
	} cases[] = {
		{ REQUIREMENT_OF_LABEL, "{'operator':'Exists'}" },
		{ REQUIREMENT_OF_LABEL, "{'key':'a'}" },
		{ REQUIREMENT_OF_LABEL, "{'key':'a','operator':'in'}" },
		{ REQUIREMENT_OF_LABEL, "{'key':'a','operator':'In'}" },
		{ REQUIREMENT_OF_LABEL, "{'key':'a','operator':'NotIn'}" },
		{ REQUIREMENT_OF_LABEL,
			"{'key':'a','operator':'In','values':[1]}" },
		{ REQUIREMENT_OF_LABEL,
			"{'key':'a','operator':'Exists','values':['1']}" },
		{ REQUIREMENT_OF_LABEL,
			"{'key':'a','operator':'DoesNotExist','values':['']}" },
		{ REQUIREMENT_OF_LABEL, "{'key':'a','operator':'Gt'}" },
		{ REQUIREMENT_OF_LABEL,
			"{'key':'a','operator':'Gt','values':['1','2']}" },
		{ REQUIREMENT_OF_LABEL,
			"{'key':'a','operator':'Lt','values':['x']}" },
		{ REQUIREMENT_OF_FIELD,
			"{'key':'a','operator':'In','values':['n']}" },
		{ REQUIREMENT_OF_FIELD,
			"{'key':'metadata.name','operator':'In','values':["
			"'n','m']}" },
		{ REQUIREMENT_OF_FIELD,
			"{'key':'metadata.name','operator':'In'}" },
		{ REQUIREMENT_OF_FIELD,
			"{'key':'metadata.name','operator':'Exists','values':["
			"'n']}" },
		{ REQUIREMENT_OF_TOPOLOGY, "{'key':'z'}" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *object = given_json(cases[i].json);
		struct requirement r = { 0 };

		assert_false(
			requirement_read(&r, interner, object, cases[i].kind));
		requirement_fini(&r, interner);
		json_value_free(object);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(labels_match_as_those_of_apimachinery_do),
		TEST(a_field_is_the_name_of_the_node),
		TEST(a_topology_is_a_list_of_values),
		TEST(what_upstream_refuses_is_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
