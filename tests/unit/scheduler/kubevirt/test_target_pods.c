#include "scheduler/kubevirt/target_pods.h"

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

static void put(struct target_pods *pods, const char *uid, const char *node)
{
	(void)target_pods_put(pods, uid,
		&(struct target_pod){ "m", "vmi", node });
}

static void a_second_pod_of_a_migration_takes_the_place_of_the_first(
	void **state)
{
	struct target_pods pods = { 0 };

	(void)state;
	put(&pods, "p1", "n1");
	put(&pods, "p2", "n2");
	assert_string_equal(target_pods_of(&pods, "m")->node, "n2");
	assert_true(target_pods_remove(&pods, "p2"));
	assert_string_equal(target_pods_of(&pods, "m")->node, "n1");
	assert_true(target_pods_remove(&pods, "p1"));
	assert_null(target_pods_of(&pods, "m"));
	assert_false(target_pods_remove(&pods, "p1"));
	target_pods_fini(&pods);
}

static void the_same_again_changes_nothing(void **state)
{
	const struct target_pod pod = { "m", "vmi", "" };
	struct target_pods pods = { 0 };

	(void)state;
	assert_true(target_pods_put(&pods, "p", &pod));
	assert_false(target_pods_put(&pods, "p", &pod));
	put(&pods, "p", "n1");
	assert_string_equal(target_pods_of(&pods, "m")->node, "n1");
	target_pods_fini(&pods);
}

static bool is_target(const char *more, struct target_pod *out)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'labels':{'kubevirt.io':'virt-launcher'%s}},"
		"'spec':{'nodeName':'n1'}}",
		more);
	struct json_value *object = given_json(text);
	bool is_target = target_pod_read(out, object);

	if (is_target) {
		assert_string_equal(out->migration_uid, "m");
		assert_string_equal(out->node, "n1");
	}
	json_value_free(object);
	return is_target;
}

static void reads_a_pod_until_the_vm_runs_in_it(void **state)
{
	struct target_pod pod;

	(void)state;
	assert_false(is_target("", &pod));
	assert_true(is_target(",'kubevirt.io/migrationJobUID':'m'", &pod));
	assert_false(
		is_target(",'kubevirt.io/migrationJobUID':'m',"
			  "'kubevirt.io/nodeName':'n1'",
			&pod));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_second_pod_of_a_migration_takes_the_place_of_the_first),
		cmocka_unit_test(the_same_again_changes_nothing),
		cmocka_unit_test(reads_a_pod_until_the_vm_runs_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
