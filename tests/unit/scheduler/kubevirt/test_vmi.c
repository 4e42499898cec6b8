#include "scheduler/kubevirt/vmi.h"

#include "scheduler/kubevirt/packed_texts.h"
#include "tests/unit/scheduler/given.h"

#include <errno.h>

static struct interner *interner;

static int setup(void **state)
{
	(void)state;
	interner = interner_new();
	return 0;
}

/* The interner counts what is held. */
static int teardown(void **state)
{
	(void)state;
	interner_free(interner);
	return 0;
}

static struct vmi *vmi_of(const struct json_value *object)
{
	struct vmi *vmi = NULL;
	struct error err;

	if (vmi_read(&vmi, interner, object, &err) < 0) {
		fail_msg("%s", err.text);
	}
	return vmi;
}

static struct vmi *given_vmi_object(const char *meta, const char *status)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'a','uid':'u'%s},"
		"'status':{%s}}",
		meta, status);
	struct json_value *object = given_json(text);
	struct vmi *vmi = vmi_of(object);

	json_value_free(object);
	return vmi;
}

static void reads_a_recorded_vmi(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "evacuation.json");
	struct vmi *vmi = vmi_of(json_value_get(file, "vmi"));

	(void)state;
	assert_string_equal(vmi->namespace, "vms");
	assert_string_equal(vmi->name, "vm-constrained");
	assert_string_equal(vmi->node, "node-b");
	assert_string_equal(vmi->evacuating, "node-b");
	assert_true(vmi->is_running);
	assert_true(vmi->is_migratable);
	assert_string_equal(vmi->why_not, "");
	assert_true(vmi_is_evacuating(vmi));
	assert_false(vmi->is_migrating);
	assert_string_equal(vmi_last_migration(vmi)->uid, "");
	assert_true(vmi->labels.count > 0);
	vmi_free(vmi, interner);
	json_value_free(file);
}

static void tells_how_a_recorded_migration_failed(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "migration-failed.json");
	struct vmi *vmi = vmi_of(json_value_get(file, "vmi"));

	(void)state;
	assert_false(vmi->is_migrating);
	assert_true(vmi_last_migration(vmi)->has_failed);
	assert_true(vmi_last_migration(vmi)->is_completed);
	assert_string_equal(vmi_last_migration(vmi)->failure_reason,
		"Live migration stuck for 150 seconds and has been aborted");
	assert_string_equal(vmi_last_migration(vmi)->uid,
		"6b641e05-19bc-45d0-afe0-59506461f626");
	assert_string_equal(vmi_last_migration(vmi)->source, "node-a");
	assert_string_equal(vmi_last_migration(vmi)->target, "node-b");
	assert_int_equal(vmi_last_migration(vmi)->started_wall_us,
		INT64_C(1795171892000000));
	assert_int_equal(vmi_last_migration(vmi)->ended_wall_us,
		vmi_last_migration(vmi)->started_wall_us);
	vmi_free(vmi, interner);
	json_value_free(file);
}

#define CONDITION(status, more)                                                \
	"'conditions':[{'type':'Ready','status':'True'},"                      \
	"{'type':'LiveMigratable','status':'" status "'" more "}]"

static void says_why_a_vm_cannot_be_migrated(void **state)
{
	static const struct {
		const char *status;
		bool is_migratable;
		const char *why;
	} cases[] = {
		{ CONDITION("True", ",'message':'x'"), true, "" },
		{ CONDITION("False", ",'reason':'R','message':'no RWX'"), false,
			"no RWX" },
		{ CONDITION("False", ",'reason':'DisksNotLiveMigratable'"),
			false, "DisksNotLiveMigratable" },
		{ "", false,
			"KubeVirt has not said yet whether it can be "
			"migrated" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct vmi *vmi = given_vmi_object("", cases[i].status);

		assert_int_equal(vmi->is_migratable, cases[i].is_migratable);
		assert_string_equal(vmi->why_not, cases[i].why);
		vmi_free(vmi, interner);
	}
}

static void knows_what_a_migration_would_copy(void **state)
{
	struct vmi *vmi = given_vmi_object("",
		"'migrationMethod':'BlockMigration',"
		"'memory':{'guestCurrent':'2Gi'}");

	(void)state;
	assert_true(vmi->copies_disks);
	assert_true(vmi->guest_bytes == 2147483648.0);
	vmi_free(vmi, interner);
	vmi = given_vmi_object("", "'migrationMethod':'LiveMigration'");
	assert_false(vmi->copies_disks);
	assert_true(vmi->guest_bytes == 0);
	vmi_free(vmi, interner);
}

static void a_vm_being_deleted_does_not_run(void **state)
{
	struct vmi *vmi =
		given_vmi_object(",'deletionTimestamp':'2026-11-20T10:46:52Z'",
			"'phase':'Running','nodeName':'n'");

	(void)state;
	assert_false(vmi->is_running);
	vmi_free(vmi, interner);
	vmi = given_vmi_object("", "'phase':'Scheduled'");
	assert_false(vmi->is_running);
	vmi_free(vmi, interner);
}

static void an_unfinished_state_migrates_until_the_vmi_ends(void **state)
{
	struct vmi *vmi = given_vmi_object("",
		"'phase':'Running','migrationState':{'migrationUid':'m'}");

	(void)state;
	assert_true(vmi->is_migrating);
	vmi_free(vmi, interner);
	vmi = given_vmi_object("",
		"'phase':'Failed','migrationState':{'migrationUid':'m'}");
	assert_false(vmi->is_migrating);
	vmi_free(vmi, interner);
}

static void an_evacuated_vm_that_has_left_does_not_evacuate(void **state)
{
	struct vmi *vmi = given_vmi_object("",
		"'phase':'Running','nodeName':'b','evacuationNodeName':'a'");

	(void)state;
	assert_false(vmi_is_evacuating(vmi));
	vmi_free(vmi, interner);
}

static void reads_consent_from_the_annotations(void **state)
{
	struct vmi *vmi = given_vmi_object(
		",'annotations':{'plimsoll.io/move':'never'}", "");

	(void)state;
	assert_int_equal(vmi->consent, CONSENT_NEVER);
	vmi_free(vmi, interner);
}

static void cuts_long_texts_between_characters(void **state)
{
	char reason[1000];
	scoped_free char *status = NULL;
	struct vmi *vmi;

	(void)state;
	/* Two bytes each, from an odd offset. */
	reason[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(reason); i += 2) {
		memcpy(reason + i, "\xc3\xa9", 2);
	}
	reason[sizeof(reason) - 1] = '\0';
	status = xasprintf(
		"'migrationState':{'migrationUid':'m','failureReason':'%s'}",
		reason);
	vmi = given_vmi_object("", status);
	assert_int_equal(strlen(vmi_last_migration(vmi)->failure_reason),
		PACKED_TEXT_MAX - 1);
	assert_string_equal(vmi_last_migration(vmi)->uid, "m");
	assert_memory_equal(vmi_last_migration(vmi)->failure_reason, reason,
		PACKED_TEXT_MAX - 1);
	vmi_free(vmi, interner);
}

static void refuses_what_no_api_server_would_serve(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'metadata':{'name':'a'}}",
		"{'metadata':{'uid':'a'}}",
		"{'metadata':{'name':'a','uid':'u','labels':{'a':1}}}",
		"[]",
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct json_value *object = given_json(texts[i]);
		struct vmi *vmi = NULL;

		assert_int_equal(vmi_read(&vmi, interner, object, NULL),
			-EBADMSG);
		assert_null(vmi);
		json_value_free(object);
	}
}

static void compares_the_last_migration(void **state)
{
	struct vmi *a = given_vmi_object("",
		"'migrationState':{'migrationUid':'m','failed':true}");
	struct vmi *b = given_vmi_object(",'labels':{'x':'y'}",
		"'nodeName':'n',"
		"'migrationState':{'migrationUid':'m','failed':true}");
	struct vmi *c = given_vmi_object("",
		"'migrationState':{'migrationUid':'m','failed':true,"
		"'failureReason':'no'}");

	(void)state;
	assert_true(vmi_has_same_migration(a, b));
	assert_false(vmi_has_same_migration(a, c));
	vmi_free(a, interner);
	vmi_free(b, interner);
	vmi_free(c, interner);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(reads_a_recorded_vmi),
		CASE(tells_how_a_recorded_migration_failed),
		CASE(says_why_a_vm_cannot_be_migrated),
		CASE(knows_what_a_migration_would_copy),
		CASE(a_vm_being_deleted_does_not_run),
		CASE(an_unfinished_state_migrates_until_the_vmi_ends),
		CASE(an_evacuated_vm_that_has_left_does_not_evacuate),
		CASE(reads_consent_from_the_annotations),
		CASE(cuts_long_texts_between_characters),
		CASE(refuses_what_no_api_server_would_serve),
		CASE(compares_the_last_migration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
