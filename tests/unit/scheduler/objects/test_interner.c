#include "scheduler/objects/interner.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void gives_equal_texts_equal_numbers(void **state)
{
	struct names *names = names_new();
	uint32_t a = names_hold(names, "a");
	uint32_t empty = names_hold(names, "");

	(void)state;
	assert_int_not_equal(a, 0);
	assert_int_not_equal(empty, 0);
	assert_int_not_equal(a, empty);
	assert_int_equal(names_hold(names, "a"), a);
	assert_string_equal(names_text(names, a), "a");
	names_free(names);
}

static void forgets_only_what_nobody_holds(void **state)
{
	struct names *names = names_new();
	uint32_t a = names_hold(names, "a");

	(void)state;
	(void)names_hold(names, "a");
	names_drop(names, a);
	assert_string_equal(names_text(names, a), "a");
	names_drop(names, a);
	assert_int_equal(names_hold(names, "b"), a);
	assert_string_equal(names_text(names, a), "b");
	assert_int_not_equal(names_hold(names, "a"), a);
	names_drop(names, 0);
	names_free(names);
	names_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_equal_texts_equal_numbers),
		cmocka_unit_test(forgets_only_what_nobody_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
