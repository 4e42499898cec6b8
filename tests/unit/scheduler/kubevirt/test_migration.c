#include "scheduler/kubevirt/migration.h"

#include "tests/unit/scheduler/given.h"

#include <errno.h>

static struct migration *migration_of(const struct json_value *object)
{
	struct migration *migration = NULL;
	struct error err;

	if (migration_read(&migration, object, &err) < 0) {
		fail_msg("%s", err.text);
	}
	return migration;
}

static void reads_a_recorded_migration_step_by_step(void **state)
{
	static const enum migration_phase phases[] = {
		MIGRATION_SCHEDULING,
		MIGRATION_SCHEDULING,
		MIGRATION_RUNNING,
		MIGRATION_RUNNING,
		MIGRATION_RUNNING,
		MIGRATION_RUNNING,
		MIGRATION_RUNNING,
		MIGRATION_SUCCEEDED,
	};
	struct json_value *file = given_file(GIVEN_DIR "migration-steps.json");
	const struct json_value *step =
		json_value_first(json_value_get(file, "steps"));

	(void)state;
	for (size_t i = 0; i < count_of(phases); i++) {
		struct migration *migration =
			migration_of(json_value_get(step, "vmim"));
		bool is_over = phases[i] == MIGRATION_SUCCEEDED;

		assert_int_equal(migration->phase, phases[i]);
		assert_int_equal(migration_is_finished(migration), is_over);
		assert_string_equal(migration->vmi_name, "vm-plain");
		assert_string_equal(migration->hostname, "node-b");
		assert_string_equal(migration->source, is_over ? "node-a" : "");
		assert_string_equal(migration->target, is_over ? "node-b" : "");
		assert_false(migration->is_ours);
		assert_int_equal(migration->created_wall_us,
			INT64_C(1795171811000000));
		migration_free(migration);
		step = json_value_next(step);
	}
	json_value_free(file);
}

static bool is_over_quota(const char *status)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'m','uid':'u'},'spec':{'vmiName':'a'},"
		"'status':{'phase':'Pending','conditions':[{'type':"
		"'migrationRejectedByResourceQuota','status':'%s'}]}}",
		status);
	struct json_value *object = given_json(json);
	struct migration *migration = migration_of(object);
	bool is_over = migration->is_over_quota;

	migration_free(migration);
	json_value_free(object);
	return is_over;
}

static void knows_that_a_quota_refuses_the_target_pod(void **state)
{
	(void)state;
	assert_true(is_over_quota("True"));
	assert_false(is_over_quota("False"));
}

static void ours_have_our_label_and_our_name(void **state)
{
	static const char *const names[] = { "plimsoll-x", "plimsoll-y", "x" };

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		scoped_free char *json = xasprintf(
			"{'metadata':{'name':'%s','uid':'u','labels':{"
			"'plimsoll.io/move-id':'x'}},'spec':{'vmiName':'a'}}",
			names[i]);
		struct json_value *object = given_json(json);
		struct migration *migration = migration_of(object);

		assert_int_equal(migration->is_ours, i == 0);
		assert_string_equal(migration->move_id, i == 0 ? "x" : "");
		migration_free(migration);
		json_value_free(object);
	}
}

static void knows_migrations_that_kubevirt_makes(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "evacuation.json");
	struct json_value *update = given_json(
		"{'metadata':{'name':'kubevirt-workload-update-x','uid':'u'},"
		"'spec':{'vmiName':'a'}}");
	struct migration *migration =
		migration_of(json_value_get(file, "vmim"));

	(void)state;
	assert_true(migration->is_evacuation);
	assert_false(migration->is_update);
	assert_string_equal(migration->hostname, "");
	migration_free(migration);
	migration = migration_of(update);
	assert_false(migration->is_evacuation);
	assert_true(migration->is_update);
	assert_int_equal(migration->phase, MIGRATION_PENDING);
	migration_free(migration);
	json_value_free(update);
	json_value_free(file);
}

static void knows_ours_by_the_label(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'namespace':'vms','name':'plimsoll-1','uid':'u',"
		"'deletionTimestamp':'2026-11-20T10:50:18Z',"
		"'labels':{'plimsoll.io/move-id':'1'}},"
		"'spec':{'vmiName':'a'},'status':{'phase':'Paused'}}");
	struct migration *migration = migration_of(object);

	(void)state;
	assert_true(migration->is_ours);
	assert_string_equal(migration->move_id, "1");
	assert_true(migration->is_deleting);
	/* A phase of a later KubeVirt is not an end. */
	assert_int_equal(migration->phase, MIGRATION_RUNNING);
	migration_set_nodes(migration, "n1", "n2");
	assert_string_equal(migration->source, "n1");
	assert_string_equal(migration->target, "n2");
	migration_free(migration);
	json_value_free(object);
}

static void refuses_what_no_api_server_would_serve(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'metadata':{'name':'m','uid':'u'}}",
		"{'metadata':{'name':'m'},'spec':{'vmiName':'a'}}",
		"{'metadata':{'uid':'u'},'spec':{'vmiName':'a'}}",
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct json_value *object = given_json(texts[i]);
		struct migration *migration = NULL;

		assert_int_equal(migration_read(&migration, object, NULL),
			-EBADMSG);
		assert_null(migration);
		json_value_free(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_recorded_migration_step_by_step),
		cmocka_unit_test(ours_have_our_label_and_our_name),
		cmocka_unit_test(knows_that_a_quota_refuses_the_target_pod),
		cmocka_unit_test(knows_migrations_that_kubevirt_makes),
		cmocka_unit_test(knows_ours_by_the_label),
		cmocka_unit_test(refuses_what_no_api_server_would_serve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
