#include "kubectl/placement.h"

#include "kube/json_value.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct json_value *parse(const char *text)
{
	struct json_value *out = NULL;

	assert_int_equal(json_value_parse(&out, text, strlen(text), NULL), 0);
	return out;
}

#define ASK(spec)                                                              \
	"create --raw " LOAD_API                                               \
	"/namespaces/mine/placements -f - < "                                  \
	"{\"apiVersion\":\"load.plimsoll.io/v1alpha1\","                       \
	"\"kind\":\"Placement\",\"metadata\":{\"namespace\":\"mine\"},"        \
	"\"spec\":" spec "}"

static void placements_are_asked_for_in_the_users_namespace(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ASK("{\"podName\":\"p\"}"), .out = "{\"a\":1}" },
		{ .call = ASK("{\"object\":{\n    \"kind\": \"Pod\"\n}}"),
			.out = "{\"b\":1}" },
	};
	struct json_value *object = parse("{\"kind\":\"Pod\"}");
	struct json_value *named = NULL, *given = NULL;

	(void)state;
	plugin.flags.namespace = "mine";
	given(calls);
	assert_int_equal(placement_ask_name(&named, &plugin.client, "podName",
				 "p", NULL),
		0);
	assert_non_null(json_value_get(named, "a"));
	assert_int_equal(
		placement_ask_object(&given, &plugin.client, object, NULL), 0);
	assert_non_null(json_value_get(given, "b"));
	json_value_free(named);
	json_value_free(given);
	json_value_free(object);
}

/* A byte more than the question has room for, and one for each part of it. */
static void an_object_that_is_too_large_is_not_sent(void **state)
{
	static const size_t lens[] = { (4 << 20) - 64, 5 << 20 };

	(void)state;
	plugin.flags.namespace = "mine";
	for (size_t i = 0; i < count_of(lens); i++) {
		scoped_free char *text =
			xasprintf("{\"a\":\"%0*d\"}", (int)lens[i], 0);
		struct json_value *object = parse(text);
		struct json_value *out = NULL;
		struct error err;

		assert_int_equal(placement_ask_object(&out, &plugin.client,
					 object, &err),
			-E2BIG);
		assert_string_equal(err.text, "the object is too large");
		assert_null(out);
		json_value_free(object);
	}
}

#define ANSWER                                                                 \
	"{\"status\":{\"chosen\":\"n1\",\"sentence\":\"n1 is idle\","          \
	"\"nodesLeftOut\":7,\"nodes\":["                                       \
	"{\"name\":\"n1\",\"feasible\":true,\"score\":12.5,"                   \
	"\"cpuExpected\":0.25,\"memoryExpected\":0.5,\"loadAgeSeconds\":4,"    \
	"\"cpuRoom\":1.5,\"terms\":{\"cpu\":12,\"memory\":-3}},"               \
	"{\"name\":\"n2\",\"score\":1,\"reasons\":[\"full\",\"cordoned\"]}]}}"

static void an_answer_is_a_sentence_and_a_table_of_nodes(void **state)
{
	static const char *const texts[] = {
		"It would go to n1.\nn1 is idle\n\n"
		"NODE   SCORE   CPU(then)   MEMORY(then)   AGE         "
		"NOT-FEASIBLE-BECAUSE\n"
		"n1     12.50   25%         50%            4s          -\n"
		"n2     -       -           -              <unknown>   "
		"full; cordoned\n"
		"7 more nodes are not in the answer.\n",
		"It would go to n1.\nn1 is idle\n\n"
		"NODE   SCORE   CPU(then)   MEMORY(then)   AGE         "
		"ROOM(deviations)   TERMS              NOT-FEASIBLE-BECAUSE\n"
		"n1     12.50   25%         50%            4s          "
		"1.50               cpu=12 memory=-3   -\n"
		"n2     -       -           -              <unknown>   "
		"-                  -                  full; cordoned\n"
		"7 more nodes are not in the answer.\n",
	};
	struct json_value *placement = parse(ANSWER);

	(void)state;
	for (int is_wide = 0; is_wide < 2; is_wide++) {
		scoped_buffer struct buffer out = BUFFER_MAX(10000);

		placement_put(&out, placement, is_wide);
		assert_string_equal(out.data, texts[is_wide]);
	}
	json_value_free(placement);
}

static void without_a_feasible_node_none_is_named(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	struct json_value *placement =
		parse("{\"status\":{\"nodesLeftOut\":-1}}");

	(void)state;
	placement_put(&out, placement, false);
	assert_string_equal(out.data,
		"No node is feasible.\n\n"
		"NODE   SCORE   CPU(then)   MEMORY(then)   AGE   "
		"NOT-FEASIBLE-BECAUSE\n");
	json_value_free(placement);
}

static void a_node_is_found_by_its_name(void **state)
{
	struct json_value *placement = parse(ANSWER);
	struct json_value *absurd =
		parse("{\"status\":{\"nodesLeftOut\":1e6}}");

	(void)state;
	assert_string_equal(
		json_value_text_at(placement_node(placement, "n2"), "name", ""),
		"n2");
	assert_null(placement_node(placement, "n3"));
	assert_true(placement_left_out(placement) == 7);
	assert_true(placement_left_out(absurd) == 0);
	json_value_free(placement);
	json_value_free(absurd);
}

#define placement_test(test)                                                   \
	cmocka_unit_test_setup_teardown(test, plugin_setup, plugin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		placement_test(placements_are_asked_for_in_the_users_namespace),
		placement_test(an_object_that_is_too_large_is_not_sent),
		placement_test(an_answer_is_a_sentence_and_a_table_of_nodes),
		placement_test(without_a_feasible_node_none_is_named),
		placement_test(a_node_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
