#include "scheduler/kubevirt/migration_limits.h"

#include "tests/unit/scheduler/given.h"

static struct migration_limits limits_of(const char *text, unsigned bits)
{
	struct json_value *object = given_json(text);
	struct migration_limits limits = migration_limits_default;

	assert_int_equal(migration_limits_read(&limits, object), bits);
	json_value_free(object);
	return limits;
}

static void has_kubevirts_defaults(void **state)
{
	struct migration_limits limits = migration_limits_default;

	(void)state;
	assert_int_equal(migration_limits_read(&limits, NULL), 0);
	assert_int_equal(limits.per_cluster, 5);
	assert_int_equal(limits.out_of_node, 2);
	assert_int_equal(limits.timeout_per_gib_s, 150);
	assert_true(limits.bytes_per_second == 0);
	assert_false(limits.allows_post_copy || limits.allows_auto_converge);
}

static void reads_all_limits(void **state)
{
	struct migration_limits limits = limits_of(
		"{'parallelMigrationsPerCluster':1,"
		"'parallelOutboundMigrationsPerNode':3,"
		"'bandwidthPerMigration':'64Mi',"
		"'completionTimeoutPerGiB':800,"
		"'allowPostCopy':true,'allowAutoConverge':true}",
		63);

	(void)state;
	assert_int_equal(limits.per_cluster, 1);
	assert_int_equal(limits.out_of_node, 3);
	assert_int_equal(limits.timeout_per_gib_s, 800);
	assert_true(limits.bytes_per_second == 64.0 * 1024 * 1024);
	assert_true(limits.allows_post_copy && limits.allows_auto_converge);
}

static void takes_a_number_for_a_quantity(void **state)
{
	(void)state;
	assert_true(limits_of("{'bandwidthPerMigration':1000}",
			    MIGRATION_LIMIT_BANDWIDTH)
			    .bytes_per_second == 1000);
	assert_true(limits_of("{'bandwidthPerMigration':'0'}",
			    MIGRATION_LIMIT_BANDWIDTH)
			    .bytes_per_second == 0);
}

static void keeps_limits_whose_value_is_absurd(void **state)
{
	struct migration_limits limits = limits_of(
		"{'parallelMigrationsPerCluster':-1,"
		"'parallelOutboundMigrationsPerNode':1e300,"
		"'bandwidthPerMigration':'fast',"
		"'completionTimeoutPerGiB':'x','allowPostCopy':null}",
		0);

	(void)state;
	assert_int_equal(limits.per_cluster, 5);
	assert_int_equal(limits.out_of_node, 2);
	assert_true(limits.bytes_per_second == 0);
}

static void copies_only_what_is_asked_for(void **state)
{
	const struct migration_limits from = { 9, 9, 9, 9, true, true };
	struct migration_limits to = migration_limits_default;

	(void)state;
	migration_limits_copy(&to, &from,
		MIGRATION_LIMIT_TIMEOUT | MIGRATION_LIMIT_POST_COPY);
	assert_int_equal(to.per_cluster, 5);
	assert_int_equal(to.out_of_node, 2);
	assert_true(to.bytes_per_second == 0);
	assert_int_equal(to.timeout_per_gib_s, 9);
	assert_true(to.allows_post_copy);
	assert_false(to.allows_auto_converge);
	migration_limits_copy(&to, &from, 63);
	assert_int_equal(to.per_cluster, 9);
	assert_int_equal(to.out_of_node, 9);
	assert_true(to.bytes_per_second == 9);
	assert_true(to.allows_auto_converge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_kubevirts_defaults),
		cmocka_unit_test(reads_all_limits),
		cmocka_unit_test(takes_a_number_for_a_quantity),
		cmocka_unit_test(keeps_limits_whose_value_is_absurd),
		cmocka_unit_test(copies_only_what_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
