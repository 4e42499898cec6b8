#include "scheduler/offline/goal_words.h"

#include <errno.h>

#include "tests/unit/scheduler/given.h"

static void reads_the_four_goals(void **state)
{
	static const struct {
		const char *text, *names;
		enum plan_goal_kind kind;
	} cases[] = {
		{ "pod", "", PLAN_POD_FITS },
		{ "empty:node-1", "node-1", PLAN_NODE_EMPTY },
		{ "move:vms/db", "vms/db", PLAN_VM_ELSEWHERE },
		{ "gone:a", "a", PLAN_NODES_GONE },
		{ "gone:a,b,c", "a,b,c", PLAN_NODES_GONE },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct goal_words words;

		assert_int_equal(goal_words_parse(&words, cases[i].text, NULL),
			0);
		assert_int_equal(words.kind, cases[i].kind);
		assert_string_equal(words.names, cases[i].names);
	}
}

static void refuses_other_words(void **state)
{
	static const char *const cases[] = { "", "pods", "pod:", "Pod", "empty",
		"empty:", "empty:a,b", "empty:,", "move:", "move:db",
		"move:/db", "move:vms/", "move:/", "move:a/b/c",
		"gone:", "gone:,", "gone:,a", "gone:a,", "gone:a,,b",
		"drain:a" };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct goal_words words;
		struct error err;
		scoped_free char *sentence = xasprintf(
			"'%s' is not pod, empty:NODE, move:NAMESPACE/VM or "
			"gone:NODE[,NODE...]",
			cases[i]);

		assert_int_equal(goal_words_parse(&words, cases[i], &err),
			-EINVAL);
		assert_string_equal(err.text, sentence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_four_goals),
		cmocka_unit_test(refuses_other_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
