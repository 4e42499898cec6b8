#include "scheduler/kubevirt/migration_policies.h"

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

#include <errno.h>

static struct {
	struct interner *interner;
	struct migration_policies policies;
	struct labels vmi, namespace;
} world;

static void read_labels(struct labels *out, const char *text)
{
	struct json_value *object = given_json(text);

	labels_fini(out, world.interner);
	*out = (struct labels){ 0 };
	assert_int_equal(labels_read(out, world.interner, object, NULL), 0);
	json_value_free(object);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.interner = interner_new();
	world.policies.interner = world.interner;
	read_labels(&world.vmi, "{'app':'db','size':'big'}");
	read_labels(&world.namespace, "{'team':'x','zone':'z'}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	labels_fini(&world.vmi, world.interner);
	labels_fini(&world.namespace, world.interner);
	migration_policies_fini(&world.policies);
	interner_free(world.interner);
	return 0;
}

static int put(const char *name, const char *vmi, const char *namespace,
	const char *limits)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'%s','uid':'u'},'spec':{'selectors':{"
		"'virtualMachineInstanceSelector':{%s},"
		"'namespaceSelector':{%s}}%s}}",
		name, vmi, namespace, limits);
	struct json_value *object = given_json(text);
	int r = migration_policies_put(&world.policies, object, NULL);

	json_value_free(object);
	return r;
}

#define TIMEOUT(seconds) ",'completionTimeoutPerGiB':" #seconds

static unsigned timeout_of(const struct labels *namespace)
{
	struct migration_limits limits = migration_limits_default;

	migration_policies_apply(&world.policies, &limits, &world.vmi,
		namespace);
	return limits.timeout_per_gib_s;
}

static void the_policy_with_most_labels_wins(void **state)
{
	(void)state;
	assert_int_equal(timeout_of(&world.namespace), 150);
	assert_int_equal(put("a", "'app':'db'", "", TIMEOUT(1)), 0);
	assert_int_equal(put("b", "'app':'db'", "'team':'x'", TIMEOUT(2)), 0);
	assert_int_equal(
		put("c", "'app':'db','size':'big'", "'team':'y'", TIMEOUT(3)),
		0);
	assert_int_equal(timeout_of(&world.namespace), 2);
	migration_policies_remove(&world.policies, "b");
	assert_int_equal(timeout_of(&world.namespace), 1);
	assert_int_equal(timeout_of(NULL), 1);
}

static void labels_of_the_vmi_win_over_those_of_the_namespace(void **state)
{
	(void)state;
	assert_int_equal(put("a", "", "'team':'x','zone':'z'", TIMEOUT(1)), 0);
	assert_int_equal(put("z", "'app':'db'", "'team':'x'", TIMEOUT(2)), 0);
	assert_int_equal(timeout_of(&world.namespace), 2);
}

static void the_first_name_wins_between_equals(void **state)
{
	(void)state;
	assert_int_equal(put("b", "'app':'db'", "", TIMEOUT(2)), 0);
	assert_int_equal(put("a", "'size':'big'", "", TIMEOUT(1)), 0);
	assert_int_equal(put("c", "'size':'big'", "", TIMEOUT(3)), 0);
	assert_int_equal(timeout_of(&world.namespace), 1);
}

static void replaces_only_what_the_policy_says(void **state)
{
	struct migration_limits limits = migration_limits_default;

	(void)state;
	assert_int_equal(put("a", "'app':'db'", "",
				 ",'bandwidthPerMigration':'1M',"
				 "'parallelMigrationsPerCluster':99"),
		0);
	limits.per_cluster = 7;
	migration_policies_apply(&world.policies, &limits, &world.vmi, NULL);
	assert_true(limits.bytes_per_second == 1e6);
	assert_int_equal(limits.timeout_per_gib_s, 150);
	/* No field of a policy. */
	assert_int_equal(limits.per_cluster, 7);
}

static void a_policy_without_selectors_matches_nothing(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'a','uid':'u'},'spec':{"
		"'completionTimeoutPerGiB':1}}");

	(void)state;
	assert_int_equal(migration_policies_put(&world.policies, object, NULL),
		0);
	assert_int_equal(timeout_of(&world.namespace), 150);
	json_value_free(object);
	assert_int_equal(put("a", "", "", TIMEOUT(2)), 0);
	assert_int_equal(timeout_of(&world.namespace), 2);
}

static void holds_a_bounded_number(void **state)
{
	struct json_value *nameless = given_json("{'spec':{}}");

	(void)state;
	for (int i = 0; i < MIGRATION_POLICIES_MAX; i++) {
		scoped_free char *name = xasprintf("p%d", i);

		assert_int_equal(put(name, "'app':'web'", "", ""), 0);
	}
	assert_int_equal(put("more", "", "", ""), -E2BIG);
	assert_int_equal(put("p0", "", "", TIMEOUT(4)), 0);
	assert_int_equal(timeout_of(&world.namespace), 4);
	assert_int_equal(put("p0", "'app':1", "", ""), -EBADMSG);
	assert_int_equal(
		migration_policies_put(&world.policies, nameless, NULL),
		-EBADMSG);
	json_value_free(nameless);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_policy_with_most_labels_wins),
		CASE(labels_of_the_vmi_win_over_those_of_the_namespace),
		CASE(the_first_name_wins_between_equals),
		CASE(replaces_only_what_the_policy_says),
		CASE(a_policy_without_selectors_matches_nothing),
		CASE(holds_a_bounded_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
