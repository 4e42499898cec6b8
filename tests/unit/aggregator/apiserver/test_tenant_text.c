#include "aggregator/apiserver/tenant_text.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stddef.h>

static void names_of_other_namespaces_are_left_out(void **state)
{
	static const struct {
		const char *text, *told;
	} cases[] = {
		{ "", "" },
		{ "makes room for bank/virt-launcher-vault-x1 on n1, move 1 "
		  "of 2",
			"makes room for a pod of another namespace on n1, "
			"move 1 of 2" },
		{ "makes room for shop/web on n1",
			"makes room for shop/web on n1" },
		{ "'bank/vault' and \"a-1/b\"",
			"'a pod of another namespace' and \"a pod of another "
			"namespace\"" },
		{ "0/3 nodes are available: 1 node(s) had taint "
		  "{node.kubernetes.io/unreachable: }, 12.5 I/O",
			"0/3 nodes are available: 1 node(s) had taint "
			"{node.kubernetes.io/unreachable: }, 12.5 I/O" },
		{ "7/vault", "a pod of another namespace" },
		{ "shopping/web shop/", "a pod of another namespace shop/" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *told = tenant_text(cases[i].text, "shop");

		assert_string_equal(told, cases[i].told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_other_namespaces_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
