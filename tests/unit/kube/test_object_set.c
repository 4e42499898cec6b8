#include "kube/object_set.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

struct vanished {
	size_t count;
	size_t stop_after;   /* 0: never */
	struct known *known; /* freed when stopping */
	char last[64];
};

static bool collect(void *owner, const char *key, const char *uid)
{
	struct vanished *v = owner;
	scoped_free char *both = xasprintf("%s=%s", key, uid);

	strncpy(v->last, both, sizeof(v->last) - 1);
	v->count++;
	if (v->count == v->stop_after) {
		known_fini(v->known);
		return false;
	}
	return true;
}

static void reports_what_a_second_list_lacks(void **state)
{
	struct known known = { 0 };
	struct vanished vanished = { 0 };

	(void)state;
	known_begin(&known);
	assert_null(known_note(&known, "a/x", "1"));
	assert_null(known_note(&known, "a/y", "2"));
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 0);

	known_begin(&known);
	assert_null(known_note(&known, "a/x", "1"));
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 1);
	assert_string_equal(vanished.last, "a/y=2");
	assert_int_equal(known_count(&known), 1);
	known_fini(&known);
}

static void keeps_what_came_between_two_lists(void **state)
{
	struct known known = { 0 };
	struct vanished vanished = { 0 };

	(void)state;
	known_begin(&known);
	known_sweep(&known, collect, &vanished);
	assert_null(known_note(&known, "a/x", "1"));
	/* A round that was given up, then one that was not. */
	known_begin(&known);
	assert_null(known_note(&known, "a/z", "3"));
	known_begin(&known);
	assert_null(known_note(&known, "a/x", "1"));
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 1);
	assert_string_equal(vanished.last, "a/z=3");
	known_fini(&known);
}

static void notices_an_object_made_anew(void **state)
{
	struct known known = { 0 };
	struct vanished vanished = { 0 };

	(void)state;
	known_begin(&known);
	assert_null(known_note(&known, "a/x", "1"));
	{
		scoped_free char *other = known_note(&known, "a/x", "2");

		assert_string_equal(other, "1");
	}
	assert_null(known_note(&known, "a/x", "2"));
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 0);
	assert_true(known_drop(&known, "a/x"));
	assert_false(known_drop(&known, "a/x"));
	known_fini(&known);
}

static void forgets_many_in_one_sweep(void **state)
{
	struct known known = { 0 };
	struct vanished vanished = { 0 };

	(void)state;
	known_begin(&known);
	for (int i = 0; i < 1000; i++) {
		scoped_free char *key = xasprintf("ns/%d", i);

		assert_null(known_note(&known, key, "u"));
	}
	known_begin(&known);
	assert_null(known_note(&known, "ns/500", "u"));
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 999);
	assert_int_equal(known_count(&known), 1);
	known_fini(&known);
}

static void may_be_freed_in_the_middle_of_a_sweep(void **state)
{
	struct known known = { 0 };
	struct vanished vanished = { .stop_after = 3, .known = &known };

	(void)state;
	known_begin(&known);
	for (int i = 0; i < 10; i++) {
		scoped_free char *key = xasprintf("ns/%d", i);

		assert_null(known_note(&known, key, "u"));
	}
	known_begin(&known);
	known_sweep(&known, collect, &vanished);
	assert_int_equal(vanished.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_what_a_second_list_lacks),
		cmocka_unit_test(keeps_what_came_between_two_lists),
		cmocka_unit_test(notices_an_object_made_anew),
		cmocka_unit_test(forgets_many_in_one_sweep),
		cmocka_unit_test(may_be_freed_in_the_middle_of_a_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
