#include "kube/object_reports.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

struct deleted {
	size_t count;
	size_t stop_after;	/* 0: never */
	struct object_set *set; /* freed when it stops */
	char last[64];
};

static bool collect(void *owner, const char *key, const char *uid)
{
	struct deleted *v = owner;
	scoped_free char *both = xasprintf("%s=%s", key, uid);

	strncpy(v->last, both, sizeof(v->last) - 1);
	v->count++;
	if (v->count == v->stop_after) {
		object_set_fini(v->set);
		return false;
	}
	return true;
}

static void add_many(struct object_set *set, int count)
{
	for (int i = 0; i < count; i++) {
		scoped_free char *key = xasprintf("ns/%d", i);

		assert_null(object_set_add(set, key, "u"));
	}
}

static void reports_objects_missing_from_a_second_list(void **state)
{
	struct object_set set = { 0 };
	struct deleted deleted = { 0 };

	(void)state;
	object_set_begin(&set);
	assert_null(object_set_add(&set, "a/x", "1"));
	assert_null(object_set_add(&set, "a/y", "2"));
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 0);

	object_set_begin(&set);
	assert_null(object_set_add(&set, "a/x", "1"));
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 1);
	assert_string_equal(deleted.last, "a/y=2");
	assert_int_equal(set.objects.count, 1);
	object_set_fini(&set);
}

static void keeps_objects_added_between_two_lists(void **state)
{
	struct object_set set = { 0 };
	struct deleted deleted = { 0 };

	(void)state;
	object_set_begin(&set);
	object_set_sweep(&set, collect, &deleted);
	assert_null(object_set_add(&set, "a/x", "1"));
	/* An interrupted round, then a complete one. */
	object_set_begin(&set);
	assert_null(object_set_add(&set, "a/z", "3"));
	object_set_begin(&set);
	assert_null(object_set_add(&set, "a/x", "1"));
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 1);
	assert_string_equal(deleted.last, "a/z=3");
	object_set_fini(&set);
}

static void notices_a_recreated_object(void **state)
{
	struct object_set set = { 0 };
	struct deleted deleted = { 0 };

	(void)state;
	object_set_begin(&set);
	assert_null(object_set_add(&set, "a/x", "1"));
	{
		scoped_free char *other = object_set_add(&set, "a/x", "2");

		assert_string_equal(other, "1");
	}
	assert_null(object_set_add(&set, "a/x", "2"));
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 0);
	assert_true(object_set_remove(&set, "a/x"));
	assert_false(object_set_remove(&set, "a/x"));
	object_set_fini(&set);
}

static void removes_many_in_one_sweep(void **state)
{
	struct object_set set = { 0 };
	struct deleted deleted = { 0 };

	(void)state;
	object_set_begin(&set);
	add_many(&set, 1000);
	object_set_begin(&set);
	assert_null(object_set_add(&set, "ns/500", "u"));
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 999);
	assert_int_equal(set.objects.count, 1);
	object_set_fini(&set);
}

static void may_be_freed_during_a_sweep(void **state)
{
	struct object_set set = { 0 };
	struct deleted deleted = { .stop_after = 3, .set = &set };

	(void)state;
	object_set_begin(&set);
	add_many(&set, 10);
	object_set_begin(&set);
	object_set_sweep(&set, collect, &deleted);
	assert_int_equal(deleted.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_objects_missing_from_a_second_list),
		cmocka_unit_test(keeps_objects_added_between_two_lists),
		cmocka_unit_test(notices_a_recreated_object),
		cmocka_unit_test(removes_many_in_one_sweep),
		cmocka_unit_test(may_be_freed_during_a_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
