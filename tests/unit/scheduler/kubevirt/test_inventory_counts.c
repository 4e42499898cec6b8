#include "scheduler/kubevirt/inventory.h"

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct inventory inventory;
	uint64_t now_us;
} world;

static int setup(void **state)
{
	static const struct inventory_handler nobody = { 0 };

	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_us = 1;
	world.interner = interner_new();
	cluster_init(&world.cluster, world.interner);
	inventory_init(&world.inventory, &world.cluster, &nobody);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inventory_fini(&world.inventory);
	cluster_fini(&world.cluster);
	interner_free(world.interner);
	return 0;
}

#define MIGRATES "{'type':'LiveMigratable','status':'True'}"
#define STAYS "{'type':'LiveMigratable','status':'False'}"
#define MARKED ",'evacuationNodeName':'n1'"
#define OVER_QUOTA                                                             \
	",'conditions':[{'type':'migrationRejectedByResourceQuota',"           \
	"'status':'True'}]"

/* A VM on n1 with the uid NAME-uid. */
static void put_vmi(const char *name, const char *condition, const char *more)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'%s','uid':'%s-uid'},"
		"'status':{'phase':'Running','nodeName':'n1','conditions':[%s]"
		"%s}}",
		name, name, condition, more);
	struct json_value *object = given_json(text);

	assert_int_equal(
		inventory_put_vmi(&world.inventory, object, world.now_us, NULL),
		0);
	json_value_free(object);
}

/* A migration of the VM with the same name. */
static void put_job(const char *name, const char *vm, const char *spec,
	const char *phase, const char *more)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'%s','uid':'%s'},"
		"'spec':{%s'vmiName':'%s'},'status':{'phase':'%s'%s}}",
		name, name, spec, vm, phase, more);
	struct json_value *object = given_json(text);

	assert_int_equal(inventory_put_migration(&world.inventory, object,
				 world.now_us, NULL),
		0);
	json_value_free(object);
}

static void put_pod(const char *uid, const char *migration, const char *vmi,
	const char *node)
{
	inventory_put_pod(&world.inventory, uid,
		&(struct target_pod){ migration, vmi, node });
}

static struct kubevirt_node node_of(const char *name)
{
	return inventory_node(&world.inventory, name);
}

static size_t unfinished(void)
{
	return inventory_unfinished(&world.inventory);
}

static void wait_us(uint64_t us)
{
	world.now_us += us;
	inventory_expire(&world.inventory, world.now_us);
}

static void a_phase_before_scheduling_counts_only_with_a_target_pod(
	void **state)
{
	static const char *const phases[] = { "", "Pending", "WaitingForSync",
		"Synchronizing" };

	(void)state;
	put_vmi("a", MIGRATES, "");
	for (size_t i = 0; i < count_of(phases); i++) {
		put_job("m", "a", "", phases[i], "");
		assert_int_equal(unfinished(), 0);
		assert_int_equal(node_of("n1").out, 0);
		put_pod("p", "m", "a-uid", "");
		assert_int_equal(unfinished(), 1);
		assert_int_equal(node_of("n1").out, 1);
		inventory_remove_pod(&world.inventory, "p");
		assert_int_equal(unfinished(), 0);
	}
}

static void a_target_pod_counts_only_for_a_vmi_that_exists(void **state)
{
	(void)state;
	put_job("m", "a", "", "Pending", "");
	put_pod("p", "m", "a-uid", "");
	assert_int_equal(unfinished(), 0);
	put_vmi("a", MIGRATES, "");
	assert_int_equal(unfinished(), 1);
	/* Anybody may put the label on a pod of another VM. */
	put_pod("p", "m", "b-uid", "");
	assert_int_equal(unfinished(), 0);
}

static void the_phases_from_scheduling_on_always_count(void **state)
{
	static const char *const phases[] = { "Scheduling", "Scheduled",
		"PreparingTarget", "TargetReady", "Running", "Unknown" };

	(void)state;
	for (size_t i = 0; i < count_of(phases); i++) {
		put_job("m", "gone", "", phases[i], "");
		assert_int_equal(unfinished(), 1);
	}
	put_job("m", "gone", "", "Failed", "");
	assert_int_equal(unfinished(), 0);
}

static void a_source_between_clusters_counts_from_scheduled_on(void **state)
{
	static const char sends[] = "'sendTo':{'migrationID':'x'},";

	(void)state;
	put_vmi("a", MIGRATES, "");
	put_job("m", "a", sends, "Scheduling", "");
	assert_int_equal(unfinished(), 0);
	put_job("m", "a", sends, "Scheduled", "");
	assert_int_equal(unfinished(), 1);
	put_job("m", "a", "'receive':{'migrationID':'x'},", "Scheduling", "");
	assert_int_equal(unfinished(), 1);
}

static void the_target_pod_names_the_target_until_the_handoff(void **state)
{
	(void)state;
	put_vmi("a", MIGRATES, "");
	put_job("m", "a", "", "Scheduling", "");
	put_pod("p", "m", "a-uid", "");
	assert_int_equal(node_of("n2").foreign_in, 0);
	put_pod("p", "m", "a-uid", "n2");
	assert_int_equal(node_of("n2").foreign_in, 1);
	assert_int_equal(node_of("n2").in, 1);
}

static void a_migration_over_its_quota_holds_no_node(void **state)
{
	(void)state;
	put_vmi("a", MIGRATES, MARKED);
	put_job("kubevirt-evacuation-m", "a", "", "Pending", "");
	assert_int_equal(node_of("n1").foreign_out, 1);
	assert_true(node_of("n1").is_evicting);
	assert_int_equal(node_of("n1").drains, 1);
	put_job("kubevirt-evacuation-m", "a", "", "Pending", OVER_QUOTA);
	assert_int_equal(inventory_foreign(&world.inventory), 0);
	assert_int_equal(node_of("n1").foreign_out, 0);
	assert_false(node_of("n1").is_evicting);
	assert_int_equal(node_of("n1").drains, 0);
	/* The quota has room now, and the pod came before the phase. */
	put_pod("p", "kubevirt-evacuation-m", "a-uid", "");
	assert_int_equal(node_of("n1").foreign_out, 1);
	assert_int_equal(unfinished(), 1);
}

static void a_node_is_left_alone_for_ten_minutes(void **state)
{
	(void)state;
	put_vmi("a", MIGRATES, "");
	put_vmi("b", MIGRATES, MARKED);
	put_job("m", "a", "", "Pending", "");
	wait_us(INVENTORY_OTHERS_US - 1);
	assert_int_equal(node_of("n1").foreign_out, 1);
	assert_true(node_of("n1").is_evicting);
	put_vmi("b", MIGRATES, MARKED);
	put_job("m", "a", "", "Running", "");
	wait_us(1);
	assert_int_equal(node_of("n1").foreign_out, 0);
	assert_int_equal(inventory_foreign(&world.inventory), 0);
	assert_false(node_of("n1").is_evicting);
	/* KubeVirt counts it as before, and the drain still waits. */
	assert_int_equal(node_of("n1").out, 1);
	assert_int_equal(node_of("n1").drains, 1);
}

static void an_evacuation_that_is_tried_again_stays_the_same(void **state)
{
	static const char *const uids[] = { "m1", "m2", "m3" };

	(void)state;
	for (size_t i = 0; i < count_of(uids); i++) {
		scoped_free char *more = xasprintf(MARKED
			",'migrationState':{'migrationUid':'%s',"
			"'failed':true}",
			uids[i]);

		put_vmi("a", MIGRATES, more);
		assert_true(node_of("n1").is_evicting);
		wait_us(INVENTORY_OTHERS_US / 3);
	}
	assert_false(node_of("n1").is_evicting);
}

static void the_next_migration_of_a_vm_has_its_own_time(void **state)
{
	(void)state;
	put_vmi("a", MIGRATES, "");
	put_job("m1", "a", "", "Pending", "");
	wait_us(INVENTORY_OTHERS_US);
	assert_int_equal(node_of("n1").foreign_out, 0);
	put_job("m1", "a", "", "Failed", "");
	put_job("m2", "a", "", "Pending", "");
	assert_int_equal(node_of("n1").foreign_out, 1);
}

static void a_marked_vm_that_cannot_migrate_holds_nothing(void **state)
{
	(void)state;
	put_vmi("a", STAYS, MARKED);
	assert_false(node_of("n1").is_evicting);
	assert_int_equal(node_of("n1").drains, 0);
	put_vmi("a", MIGRATES, MARKED);
	assert_true(node_of("n1").is_evicting);
	assert_int_equal(node_of("n1").drains, 1);
	assert_string_equal(node_of("n1").work.vm, "a");
	assert_string_equal(node_of("n1").work.migration, "");
}

static void very_many_refused_migrations_leave_no_node_alone(void **state)
{
	(void)state;
	for (int i = 0; i <= NODE_COUNTERS_MAX; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);

		put_job(name, name, "", "Pending", OVER_QUOTA);
	}
	assert_false(node_of("n9").is_evicting);
	assert_int_equal(unfinished(), 0);
}

static void the_work_on_a_node_has_a_name(void **state)
{
	(void)state;
	put_vmi("b", MIGRATES, "");
	put_vmi("a", MIGRATES, "");
	put_job("m2", "b", "", "Pending", "");
	put_job("m1", "a", "", "Pending", "");
	assert_string_equal(node_of("n1").work.migration, "m1");
	assert_string_equal(node_of("n1").work.vm, "a");
	assert_null(node_of("n2").work.namespace);
}

static void says_why_a_migration_is_ignored(void **state)
{
	const struct migration *m;

	(void)state;
	put_vmi("a", MIGRATES, "");
	put_job("m", "a", "", "Pending", "");
	m = inventory_migration_of(&world.inventory, "vms", "a");
	assert_int_equal(inventory_others_state(&world.inventory, m),
		OTHERS_GO_FIRST);
	wait_us(INVENTORY_OTHERS_US);
	assert_int_equal(inventory_others_state(&world.inventory, m),
		OTHERS_LATE);
	put_job("m", "a", "", "Pending", OVER_QUOTA);
	m = inventory_migration_of(&world.inventory, "vms", "a");
	assert_int_equal(inventory_others_state(&world.inventory, m),
		OTHERS_OVER_QUOTA);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_phase_before_scheduling_counts_only_with_a_target_pod),
		CASE(a_target_pod_counts_only_for_a_vmi_that_exists),
		CASE(the_phases_from_scheduling_on_always_count),
		CASE(a_source_between_clusters_counts_from_scheduled_on),
		CASE(the_target_pod_names_the_target_until_the_handoff),
		CASE(a_migration_over_its_quota_holds_no_node),
		CASE(a_node_is_left_alone_for_ten_minutes),
		CASE(an_evacuation_that_is_tried_again_stays_the_same),
		CASE(the_next_migration_of_a_vm_has_its_own_time),
		CASE(a_marked_vm_that_cannot_migrate_holds_nothing),
		CASE(very_many_refused_migrations_leave_no_node_alone),
		CASE(the_work_on_a_node_has_a_name),
		CASE(says_why_a_migration_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
