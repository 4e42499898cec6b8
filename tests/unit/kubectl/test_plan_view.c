#include "kubectl/plan_view.h"

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

/* ---- names of nodes ---- */

static void nodes_are_split_at_commas(void **state)
{
	const char *names[PLAN_NODES_MAX];
	scoped_free char *copy = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(plan_read_nodes(&copy, names, &count, "a,b.c", NULL),
		0);
	assert_int_equal(count, 2);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b.c");
}

static void what_is_no_name_of_a_node_is_named(void **state)
{
	static const char *const lists[] = { "", "a,", "a,,b", "a/b" };
	const char *names[PLAN_NODES_MAX];
	char *copy = NULL;
	size_t count = 0;
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(lists); i++) {
		assert_int_equal(
			plan_read_nodes(&copy, names, &count, lists[i], &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "is not the name of a node"));
	}
	assert_null(copy);
	assert_int_equal(count, 0);
}

static void a_list_has_at_most_64_nodes(void **state)
{
	char list[2 * (PLAN_NODES_MAX + 1)];
	const char *names[PLAN_NODES_MAX];
	scoped_free char *copy = NULL;
	size_t count = 0;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(list); i += 2) {
		list[i] = 'a';
		list[i + 1] = ',';
	}
	list[sizeof(list) - 1] = '\0';
	assert_int_equal(plan_read_nodes(&copy, names, &count, list, &err),
		-EINVAL);
	assert_string_equal(err.text, "more than 64 nodes");
	list[sizeof(list) - 3] = '\0';
	assert_int_equal(plan_read_nodes(&copy, names, &count, list, &err), 0);
	assert_int_equal(count, PLAN_NODES_MAX);
}

/* ---- questions ---- */

#define ASK(spec)                                                              \
	"create --raw " LOAD_API                                               \
	"/namespaces/mine/plans -f - < "                                       \
	"{\"apiVersion\":\"load.plimsoll.io/v1alpha1\",\"kind\":\"Plan\","     \
	"\"metadata\":{\"namespace\":\"mine\"},\"spec\":{" spec "}}"

static void plans_are_asked_for_in_the_users_namespace(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ASK("\"goal\":\"NodesGone\","
			      "\"nodeNames\":[\"a\",\"b\"]"),
			.out = "{\"a\":1}" },
		{ .call = ASK("\"goal\":\"Move\",\"vmName\":\"x\""),
			.out = "{\"b\":1}" },
	};
	struct json_value *nodes = NULL, *move = NULL, *none = NULL;

	(void)state;
	plugin.flags.namespace = "mine";
	given(calls);
	assert_int_equal(plan_ask_nodes(&nodes, &plugin.client, "NodesGone",
				 "a,b", NULL),
		0);
	assert_non_null(json_value_get(nodes, "a"));
	assert_int_equal(plan_ask_move(&move, &plugin.client, "x", NULL), 0);
	assert_non_null(json_value_get(move, "b"));
	assert_int_equal(
		plan_ask_nodes(&none, &plugin.client, "NodesGone", "a,/", NULL),
		-EINVAL);
	assert_null(none);
	json_value_free(nodes);
	json_value_free(move);
}

/* ---- views ---- */

#define VM "\"namespace\":\"a\",\"vmName\":\"x\""

static void lists_are_tables_below_a_title(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	struct json_value *plan =
		parse("{\"status\":{"
		      "\"steps\":[{\"wave\":1," VM
		      ",\"sourceNode\":\"n1\","
		      "\"targetNode\":\"n2\"},{\"action\":\"Start\"}],"
		      "\"stuck\":[{" VM
		      ",\"nodeName\":\"n1\","
		      "\"reason\":\"a disk\"}],"
		      "\"lost\":[{" VM
		      ",\"nodeName\":\"n1\",\"reason\":\"full\"}],"
		      "\"nodes\":[{\"name\":\"n1\",\"cpuBefore\":0.5,"
		      "\"cpuAfter\":0.25,\"memoryBefore\":0.125}]}}");

	(void)state;
	plan_put_steps(&out, plan, "Steps:");
	plan_put_stuck(&out, plan);
	plan_put_lost(&out, plan);
	plan_put_nodes(&out, plan);
	json_value_free(plan);
	assert_string_equal(out.data,
		"\nSteps:\n"
		"WAVE   NAMESPACE   VM   FROM   TO\n"
		"1      a           x    n1     n2\n"
		"-      -           -    -      -\n"
		"\nThese VMs cannot move:\n"
		"NAMESPACE   VM   NODE   REASON\n"
		"a           x    n1     a disk\n"
		"\nThese VMs would find no place:\n"
		"NAMESPACE   VM   NODE   REASON\n"
		"a           x    n1     full\n"
		"\nWhat the nodes would look like:\n"
		"NODE   CPU(expected)   CPU(then)   MEMORY(now)   "
		"MEMORY(then)\n"
		"n1     50%             25%         12%           -\n");
}

static void a_part_that_is_empty_is_left_out(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json_value *plan = parse("{\"status\":{\"steps\":[]}}");

	(void)state;
	plan_put_steps(&out, plan, "Steps:");
	plan_put_stuck(&out, plan);
	plan_put_lost(&out, plan);
	plan_put_nodes(&out, plan);
	plan_put_sentence(&out, plan);
	plan_put_hidden(&out, plan);
	json_value_free(plan);
	assert_int_equal(out.len, 0);
}

static void the_sentence_says_if_the_search_was_cut_off(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json_value *plan = parse(
		"{\"status\":{\"sentence\":\"2 VMs move\",\"cutOff\":true}}");

	(void)state;
	plan_put_sentence(&out, plan);
	json_value_free(plan);
	assert_string_equal(out.data,
		"2 VMs move\nThe search ended at its limit of work: there may "
		"be a better plan.\n");
}

static void hidden_vms_are_counted(void **state)
{
	static const struct {
		const char *hidden, *text;
	} cases[] = {
		{ "{\"vms\":1,\"steps\":1}",
			"\n1 more VM of namespaces that you may not list: 1 "
			"would move, 0 cannot.\n" },
		{ "{\"vms\":6,\"steps\":1,\"stuck\":2,\"lost\":3}",
			"\n6 more VMs of namespaces that you may not list: 1 "
			"would move, 5 cannot.\n" },
		{ "{\"vms\":0,\"stuck\":2}", "" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1000);
		scoped_free char *text = xasprintf(
			"{\"status\":{\"hidden\":%s}}", cases[i].hidden);
		struct json_value *plan = parse(text);

		plan_put_hidden(&out, plan);
		json_value_free(plan);
		assert_string_equal(out.len == 0 ? "" : out.data,
			cases[i].text);
	}
}

#define plan_test(test)                                                        \
	cmocka_unit_test_setup_teardown(test, plugin_setup, plugin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		plan_test(nodes_are_split_at_commas),
		plan_test(what_is_no_name_of_a_node_is_named),
		plan_test(a_list_has_at_most_64_nodes),
		plan_test(plans_are_asked_for_in_the_users_namespace),
		plan_test(lists_are_tables_below_a_title),
		plan_test(a_part_that_is_empty_is_left_out),
		plan_test(the_sentence_says_if_the_search_was_cut_off),
		plan_test(hidden_vms_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
