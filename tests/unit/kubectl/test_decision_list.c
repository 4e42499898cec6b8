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
		cmocka_unit_test(
			a_decision_without_anything_is_old_and_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
