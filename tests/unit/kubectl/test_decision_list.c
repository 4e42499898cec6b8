#include "kubectl/decision_list.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

static void add(struct decision_list *list, const char *pod, const char *time)
{
	scoped_free char *text = xasprintf(
		"{\"spec\":{\"podName\":\"%s\"},\"status\":{\"time\":\"%s\","
		"\"chosen\":\"node1\",\"sentence\":\"words\"}}",
		pod, time);
	struct json_value *decision = NULL;

	assert_int_equal(json_value_parse(&decision, text, strlen(text), NULL),
		0);
	decision_list_add(list, decision);
	json_value_free(decision);
}

static void keeps_the_newest_in_whatever_order_they_come(void **state)
{
	static const char *const orders[] = { "123", "321", "213", "312" };

	(void)state;
	for (size_t i = 0; i < count_of(orders); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(10000);
		struct decision_list list = { .max = 2 };

		for (const char *at = orders[i]; *at != '\0'; at++) {
			char pod[] = { 'p', *at, '\0' };
			char time[] = "2026-01-01T00:00:00Z";

			time[18] = *at;
			add(&list, pod, time);
		}
		decision_list_write(&out, &list);
		assert_null(strstr(out.data, "pod p1"));
		assert_true(strstr(out.data, "pod p3") <
			strstr(out.data, "pod p2"));
		decision_list_fini(&list);
	}
}

static void a_rejection_counts_its_nodes_and_names_some(void **state)
{
	static const char text[] =
		"{\"spec\":{\"podName\":\"p\"},\"status\":{\"rejections\":["
		"{\"reason\":\"too small\",\"nodes\":1,\"names\":[\"a\"]},"
		"{\"reason\":\"full\",\"nodes\":3,\"names\":[\"b\",\"c\"]},"
		"{\"reason\":\"gone\",\"nodes\":2}],\"best\":["
		"{\"node\":\"d\",\"score\":81.5,\"cpuExpected\":0.25}]}}";
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	scoped_buffer struct buffer wide = BUFFER_MAX(10000);
	struct decision_list list = { .max = 1 };
	struct json_value *decision = NULL;

	(void)state;
	assert_int_equal(json_value_parse(&decision, text, strlen(text), NULL),
		0);
	decision_list_add(&list, decision);
	decision_list_write(&out, &list);
	assert_non_null(strstr(out.data,
		"  not feasible: 1 node: too small (a)\n"
		"  not feasible: 3 nodes: full (b, c, ...)\n"
		"  not feasible: 2 nodes: gone\n"));
	assert_null(strstr(out.data, "SCORE"));
	decision_list_fini(&list);
	list.output = OUTPUT_WIDE;
	decision_list_add(&list, decision);
	decision_list_write(&wide, &list);
	assert_non_null(strstr(wide.data, "NODE"));
	assert_non_null(strstr(wide.data, "25%"));
	decision_list_fini(&list);
	json_value_free(decision);
}

static void a_decision_without_anything_is_old_and_has_words(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10000);
	struct decision_list list = { .max = DECISION_LIST_MAX };

	(void)state;
	add(&list, "new", "2026-01-01T00:00:00Z");
	decision_list_add(&list, NULL);
	assert_int_equal(list.count, 2);
	decision_list_write(&out, &list);
	assert_non_null(strstr(out.data, "no node was feasible for pod -."));
	decision_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_newest_in_whatever_order_they_come),
		cmocka_unit_test(a_rejection_counts_its_nodes_and_names_some),
		cmocka_unit_test(
			a_decision_without_anything_is_old_and_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
