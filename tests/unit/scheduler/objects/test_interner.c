#include "scheduler/objects/interner.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void gives_equal_strings_the_same_id(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a");
	uint32_t empty = interner_hold(interner, "");

	(void)state;
	assert_int_not_equal(a, 0);
	assert_int_not_equal(empty, 0);
	assert_int_not_equal(a, empty);
	assert_int_equal(interner_hold(interner, "a"), a);
	assert_string_equal(interner_text(interner, a), "a");
	interner_free(interner);
}

static void frees_a_string_with_its_last_reference(void **state)
{
	struct interner *interner = interner_new();
	uint32_t a = interner_hold(interner, "a");

	(void)state;
	(void)interner_hold(interner, "a");
	interner_drop(interner, a);
	assert_string_equal(interner_text(interner, a), "a");
	interner_drop(interner, a);
	assert_int_equal(interner_hold(interner, "b"), a);
	assert_string_equal(interner_text(interner, a), "b");
	assert_int_not_equal(interner_hold(interner, "a"), a);
	interner_drop(interner, 0);
	interner_free(interner);
	interner_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_equal_strings_the_same_id),
		cmocka_unit_test(frees_a_string_with_its_last_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
