#include "scheduler/admission/labelled.h"

#include "tests/support/cm.h"
#include "tests/unit/scheduler/admission/given_namespace.h"

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct labelled labelled;
} scene;

static int begin(void **state)
{
	(void)state;
	scene.interner = interner_new();
	cluster_init(&scene.cluster, scene.interner);
	labelled_init(&scene.labelled, &scene.cluster);
	return 0;
}

static int end(void **state)
{
	(void)state;
	labelled_fini(&scene.labelled);
	cluster_fini(&scene.cluster);
	interner_free(scene.interner);
	return 0;
}

static void only_the_value_enabled_counts(void **state)
{
	(void)state;
	given_namespace(&scene.cluster, "yes", "enabled");
	given_namespace(&scene.cluster, "no", "disabled");
	given_namespace(&scene.cluster, "none", NULL);
	assert_true(labelled_has(&scene.labelled, "yes"));
	assert_false(labelled_has(&scene.labelled, "no"));
	assert_false(labelled_has(&scene.labelled, "none"));
	assert_false(labelled_has(&scene.labelled, "missing"));
	given_namespace(&scene.cluster, "yes", NULL);
	assert_false(labelled_has(&scene.labelled, "yes"));
}

static void a_list_is_in_order_and_short(void **state)
{
	static const char *const names[] = { "e", "b", "d", "a", "c" };
	static const char *const lists[] = { "e", "b, e", "b, d, e",
		"a, b, d and 1 more", "a, b, c and 2 more" };

	(void)state;
	assert_int_equal(labelled_list(NULL, &scene.labelled), 0);
	for (size_t i = 0; i < count_of(names); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(100);

		given_namespace(&scene.cluster, names[i], "enabled");
		assert_int_equal(labelled_list(&out, &scene.labelled), i + 1);
		assert_string_equal(out.data, lists[i]);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(only_the_value_enabled_counts),
		TEST(a_list_is_in_order_and_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
