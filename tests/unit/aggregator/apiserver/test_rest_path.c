#include "aggregator/apiserver/rest_path.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stddef.h>

#define ROOT "/apis/load.plimsoll.io/v1alpha1/"

static void paths_of_objects_are_read(void **state)
{
	static const struct {
		const char *path;
		struct rest_path read;
	} cases[] = {
		{ ROOT "nodeloads", { API_NODE_LOADS, "", "", false, false } },
		{ ROOT "nodeloads/n.x",
			{ API_NODE_LOADS, "", "n.x", false, false } },
		{ ROOT "nodeloads/n/history",
			{ API_NODE_LOADS, "", "n", true, false } },
		{ ROOT "vmloads", { API_VM_LOADS, "", "", false, false } },
		{ ROOT "namespaces/shop/vmloads",
			{ API_VM_LOADS, "shop", "", false, false } },
		{ ROOT "namespaces/shop/vmloads/web/history",
			{ API_VM_LOADS, "shop", "web", true, false } },
		{ ROOT "namespaces/a/decisions/p.1f",
			{ API_DECISIONS, "a", "p.1f", false, false } },
		{ ROOT "moves", { API_MOVES, "", "", false, false } },
		{ ROOT "namespaces/a/plans",
			{ API_PLANS, "a", "", false, false } },
		{ ROOT "status/plimsoll",
			{ API_STATUS, "", "plimsoll", false, false } },
		{ ROOT "status/plimsoll/outlook",
			{ API_STATUS, "", "plimsoll", false, true } },
		{ ROOT "namespaces/shop/vmloads/web/outlook",
			{ API_VM_LOADS, "shop", "web", false, true } },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct rest_path path;

		assert_int_equal(rest_path_parse(&path, cases[i].path, NULL),
			0);
		assert_int_equal(path.kind, cases[i].read.kind);
		assert_string_equal(path.namespace, cases[i].read.namespace);
		assert_string_equal(path.name, cases[i].read.name);
		assert_int_equal(path.is_history, cases[i].read.is_history);
		assert_int_equal(path.is_outlook, cases[i].read.is_outlook);
	}
}

static void other_paths_are_not_found(void **state)
{
	static const char *const paths[] = { "", "/", ROOT, ROOT "pods",
		"/apis/load.plimsoll.io/v1/nodeloads", ROOT "nodeloads/",
		ROOT "nodeloads//history", ROOT "vmloads/web",
		ROOT "namespaces/a/nodeloads", ROOT "namespaces/a/nodeloads/n",
		ROOT "namespaces/a/vmloads/w/x",
		ROOT "namespaces/a/moves/m/history", ROOT "namespaces/a",
		ROOT "nodeloads/n/outlook", ROOT "status/plimsoll/history",
		ROOT "status/outlook/x", ROOT "vmloads/web/outlook",
		ROOT "namespaces/a/vmloads/w/history/x", ROOT "namespaces" };
	struct rest_path path;

	(void)state;
	for (size_t i = 0; i < count_of(paths); i++) {
		assert_int_equal(rest_path_parse(&path, paths[i], NULL),
			-ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_objects_are_read),
		cmocka_unit_test(other_paths_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
