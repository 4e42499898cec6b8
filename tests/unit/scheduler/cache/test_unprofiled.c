#include "scheduler/cache/unprofiled.h"
#include "tests/support/cm.h"

struct row {
	struct unprofiled_pod pod;
	const char *name;
};

static void add(struct unprofiled *unprofiled, struct row *row,
	const char *name, const char *node)
{
	*row = (struct row){ { .node = node, .pod = row }, name };
	unprofiled_add(unprofiled, &row->pod);
}

static void assert_next(struct unprofiled *unprofiled, const char *name)
{
	const struct row *row = unprofiled_take(unprofiled);

	assert_non_null(row);
	assert_string_equal(row->name, name);
}

static void pods_of_a_node_follow_one_another(void **state)
{
	struct unprofiled unprofiled;
	struct row rows[5];

	(void)state;
	unprofiled_init(&unprofiled);
	add(&unprofiled, &rows[0], "a1", "a");
	add(&unprofiled, &rows[1], "b1", "b");
	add(&unprofiled, &rows[2], "a2", "a");
	add(&unprofiled, &rows[3], "b2", "b");
	assert_next(&unprofiled, "a1");
	add(&unprofiled, &rows[4], "a3", "a");
	assert_next(&unprofiled, "a2");
	assert_next(&unprofiled, "a3");
	assert_next(&unprofiled, "b1");
	assert_next(&unprofiled, "b2");
	assert_null(unprofiled_take(&unprofiled));
	unprofiled_fini(&unprofiled);
}

static void pods_are_removed_from_anywhere(void **state)
{
	struct unprofiled unprofiled;
	struct row rows[6];

	(void)state;
	unprofiled_init(&unprofiled);
	add(&unprofiled, &rows[0], "a1", "a");
	add(&unprofiled, &rows[1], "b1", "b");
	add(&unprofiled, &rows[2], "b2", "b");
	add(&unprofiled, &rows[3], "c1", "c");
	unprofiled_remove(&unprofiled, &rows[0].pod); /* the only one of a */
	unprofiled_remove(&unprofiled, &rows[2].pod); /* the last one of b */
	add(&unprofiled, &rows[4], "a2", "a");
	add(&unprofiled, &rows[5], "b3", "b");
	assert_next(&unprofiled, "b1");
	assert_next(&unprofiled, "b3");
	assert_next(&unprofiled, "c1");
	assert_next(&unprofiled, "a2");
	assert_null(unprofiled_take(&unprofiled));
	unprofiled_fini(&unprofiled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_a_node_follow_one_another),
		cmocka_unit_test(pods_are_removed_from_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
