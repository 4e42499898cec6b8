#include "scheduler/kubevirt/inventory.h"

#include "lib/memory.h"
#include "tests/unit/scheduler/given.h"

#include <errno.h>

static struct {
	struct interner *interner;
	struct cluster cluster;
	struct inventory inventory;
	struct buffer calls;   /* of the handler, one line each */
	struct buffer pods_of; /* VMIs that allow their pods something else */
} world;

/* Ours have the same name in all tests. */
static const char *name_of(const struct migration *migration)
{
	return migration->is_ours ? migration->uid : migration->name;
}

static void on_migration(void *owner, const struct migration *migration,
	const struct vmi *vmi)
{
	static const char *const phases[] = { "pending", "scheduling",
		"running", "succeeded", "failed" };

	(void)owner;
	buffer_printf(&world.calls, "%s %s %s->%s%s%s;", name_of(migration),
		phases[migration->phase], migration->source, migration->target,
		vmi == NULL ? " no vmi" : "",
		migration->is_deleting ? " deleting" : "");
	if (vmi != NULL && *vmi_last_migration(vmi)->failure_reason != '\0' &&
		strcmp(vmi_last_migration(vmi)->uid, migration->uid) == 0) {
		buffer_printf(&world.calls, "%s;",
			vmi_last_migration(vmi)->failure_reason);
	}
}

static void on_gone(void *owner, const struct migration *migration)
{
	(void)owner;
	buffer_printf(&world.calls, "%s gone;", name_of(migration));
}

static void on_vmi(void *owner, const char *namespace, const char *uid)
{
	(void)owner;
	buffer_printf(&world.pods_of, "%s/%s;", namespace, uid);
}

static int setup(void **state)
{
	static const struct inventory_handler handler = { on_migration, on_gone,
		on_vmi, NULL };

	(void)state;
	memset(&world, 0, sizeof(world));
	world.calls = BUFFER_MAX(1 << 16);
	world.pods_of = BUFFER_MAX(1 << 16);
	world.interner = interner_new();
	cluster_init(&world.cluster, world.interner);
	inventory_init(&world.inventory, &world.cluster, &handler);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inventory_fini(&world.inventory);
	cluster_fini(&world.cluster);
	interner_free(world.interner);
	buffer_fini(&world.calls);
	buffer_fini(&world.pods_of);
	return 0;
}

/* Checks and forgets the calls. */
static void expect_calls(const char *expected)
{
	assert_string_equal(world.calls.data == NULL ? "" : world.calls.data,
		expected);
	buffer_clear(&world.calls);
}

static void put_vmi_object(const struct json_value *object)
{
	assert_int_equal(inventory_put_vmi(&world.inventory, object, 1, NULL),
		0);
}

static void put_migration_object(const struct json_value *object)
{
	assert_int_equal(
		inventory_put_migration(&world.inventory, object, 1, NULL), 0);
}

/* A running VMI with the uid NAME-uid. */
static void put_vmi(const char *name, const char *node, const char *status)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'%s','uid':'%s-uid'},"
		"'status':{'phase':'Running','nodeName':'%s'%s}}",
		name, name, node, status);
	struct json_value *object = given_json(text);

	put_vmi_object(object);
	json_value_free(object);
}

#define STATE(uid, more)                                                       \
	",'migrationState':{'migrationUid':'" uid                              \
	"','sourceNode':'n1','targetNode':'n2'" more "}"
#define OURS "'labels':{'plimsoll.io/move-id':'id1'},"

static void put_migration(const char *name, const char *vmi, const char *meta,
	const char *spec, const char *phase)
{
	bool is_ours = strstr(meta, OURS) != NULL;
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms',%s'name':'%s','uid':'%s'},"
		"'spec':{%s'vmiName':'%s'},'status':{'phase':'%s'}}",
		meta, is_ours ? "plimsoll-id1" : name, name, spec, vmi, phase);
	struct json_value *object = given_json(text);

	put_migration_object(object);
	json_value_free(object);
}

static void expect_node(const char *name, unsigned out, unsigned in,
	unsigned foreign_out, unsigned foreign_in)
{
	struct kubevirt_node node = inventory_node(&world.inventory, name);

	assert_int_equal(node.out, out);
	assert_int_equal(node.in, in);
	assert_int_equal(node.foreign_out, foreign_out);
	assert_int_equal(node.foreign_in, foreign_in);
}

/* Checks and forgets the VMIs whose pods may count otherwise. */
static void expect_pods_of(const char *expected)
{
	assert_string_equal(
		world.pods_of.data == NULL ? "" : world.pods_of.data, expected);
	buffer_clear(&world.pods_of);
}

static void put_vmi_with(const char *spec, const char *status)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'namespace':'vms','name':'a','uid':'u'},"
		"'spec':{'domain':{%s}},'status':{%s}}",
		spec, status);
	struct json_value *object = given_json(text);

	put_vmi_object(object);
	json_value_free(object);
}

static void tells_when_a_vmi_allows_its_pods_something_else(void **state)
{
	(void)state;
	put_vmi_with("'cpu':{'sockets':2}", "");
	expect_pods_of("vms/u;");
	put_vmi_with("'cpu':{'sockets':2}", "'nodeName':'n1'");
	expect_pods_of("");
	put_vmi_with("'cpu':{'sockets':4}", "'nodeName':'n1'");
	expect_pods_of("vms/u;");
	assert_true(inventory_vmi(&world.inventory, "u")->cpus == 4);
	put_vmi_with("'cpu':{'sockets':4}", "'activePods':{'p':'n1'}");
	expect_pods_of("vms/u;");
	put_vmi_with("'cpu':{'sockets':4,'dedicatedCpuPlacement':true}",
		"'activePods':{'p':'n1'}");
	expect_pods_of("vms/u;");
	inventory_remove_vmi(&world.inventory, "u");
	expect_pods_of("vms/u;");
}

static void follows_a_recorded_migration(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "migration-steps.json");
	const struct json_value *step =
		json_value_first(json_value_get(file, "steps"));
	size_t steps = 0;

	(void)state;
	for (; step != NULL; step = json_value_next(step), steps++) {
		put_vmi_object(json_value_get(step, "vmi"));
		put_migration_object(json_value_get(step, "vmim"));
		if (steps < 7) {
			expect_node("node-a", 1, 0, 1, 0);
			expect_node("node-b", 0, 1, 0, 1);
			assert_non_null(inventory_migration_of(&world.inventory,
				"vms", "vm-plain"));
		}
	}
	assert_int_equal(steps, 9);
	/* The VMI moves from node-a to node-b in the seventh step; its state
	 * changes in the third, fifth, seventh and eighth. */
	expect_calls(
		"plimsoll-vfk87 scheduling node-a->node-b;"
		"plimsoll-vfk87 scheduling node-a->node-b;"
		"plimsoll-vfk87 running node-a->node-b;"
		"plimsoll-vfk87 running node-a->node-b;"
		"plimsoll-vfk87 running node-a->node-b;"
		"plimsoll-vfk87 running node-a->node-b;"
		"plimsoll-vfk87 succeeded node-a->node-b;");
	assert_null(
		inventory_migration_of(&world.inventory, "vms", "vm-plain"));
	assert_int_equal(inventory_unfinished(&world.inventory), 0);
	expect_node("node-a", 0, 0, 0, 0);
	json_value_free(file);
}

static void tells_the_reason_that_comes_after_the_phase(void **state)
{
	(void)state;
	put_vmi("a", "n1", STATE("m", ""));
	put_migration("m", "a", OURS, "", "Running");
	put_migration("m", "a", OURS, "", "Failed");
	expect_calls("m running n1->n2;m failed n1->n2;");
	put_vmi("a", "n1",
		STATE("m", ",'failed':true,'failureReason':'stuck'"));
	expect_calls("m failed n1->n2;stuck;");
	/* Nothing new. */
	put_vmi("a", "n1",
		STATE("m", ",'failed':true,'failureReason':'stuck'"));
	put_migration("m", "a", OURS, "", "Failed");
	expect_calls("");
}

static void forgets_a_finished_migration_after_a_minute(void **state)
{
	size_t at = 0;

	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", "", "", "Pending");
	put_migration("m", "a", "", "", "Succeeded");
	inventory_expire(&world.inventory, INVENTORY_SETTLE_US);
	assert_non_null(inventory_next_migration(&world.inventory, &at));
	inventory_expire(&world.inventory, 1 + INVENTORY_SETTLE_US);
	at = 0;
	assert_null(inventory_next_migration(&world.inventory, &at));
	expect_calls("m pending n1->;m succeeded n1->;");
	inventory_remove_migration(&world.inventory, "m");
	expect_calls("");
}

static void a_finished_migration_that_is_shown_again_is_no_younger(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'m','namespace':'vms','uid':'m'},"
		"'spec':{'vmiName':'a'},'status':{'phase':'Succeeded'}}");
	size_t at = 0;

	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", "", "", "Pending");
	put_migration("m", "a", "", "", "Succeeded");
	assert_int_equal(inventory_put_migration(&world.inventory, object,
				 INVENTORY_SETTLE_US, NULL),
		0);
	inventory_expire(&world.inventory, 1 + INVENTORY_SETTLE_US);
	assert_null(inventory_next_migration(&world.inventory, &at));
	expect_calls("m pending n1->;m succeeded n1->;");
	json_value_free(object);
}

/* A watch that begins again after etcd was restored may show it so. */
static void keeps_a_migration_that_is_unfinished_again(void **state)
{
	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", "", "", "Pending");
	put_migration("m", "a", "", "", "Failed");
	put_migration("m", "a", "", "", "Running");
	expect_calls("m pending n1->;m failed n1->;m running n1->;");
	inventory_expire(&world.inventory, 1 + INVENTORY_SETTLE_US);
	assert_non_null(inventory_migration_of(&world.inventory, "vms", "a"));
	inventory_remove_migration(&world.inventory, "m");
	assert_null(inventory_migration_of(&world.inventory, "vms", "a"));
}

static void holds_no_migration_that_was_finished_before(void **state)
{
	size_t at = 0;

	(void)state;
	put_vmi("a", "n1", STATE("old", ",'completed':true"));
	put_migration("old", "a", "", "", "Succeeded");
	put_migration("ours", "a", OURS, "", "Failed");
	assert_null(inventory_next_migration(&world.inventory, &at));
	/* An earlier leader may have ordered it. */
	expect_calls("ours failed ->;");
}

static void waits_for_the_reason_of_one_that_failed_before(void **state)
{
	size_t at = 0;

	(void)state;
	put_vmi("a", "n1", STATE("m", ""));
	put_migration("m", "a", OURS, "", "Failed");
	assert_non_null(inventory_next_migration(&world.inventory, &at));
	expect_calls("m failed n1->n2;");
	put_vmi("a", "n1", STATE("m", ",'failed':true,'failureReason':'x'"));
	expect_calls("m failed n1->n2;x;");
}

static void finds_the_target_by_its_hostname(void **state)
{
	(void)state;
	cluster_add_node(&world.cluster,
		given_node(world.interner,
			"{'metadata':{'name':'n2','labels':{"
			"'kubernetes.io/hostname':'host-2'}}}"));
	put_vmi("a", "n1", "");
	put_migration("m", "a", OURS,
		"'addedNodeSelector':{'kubernetes.io/hostname':'host-2'},",
		"Pending");
	expect_calls("m pending n1->n2;");
	expect_node("n1", 1, 0, 0, 0);
	expect_node("n2", 0, 1, 0, 0);
	put_vmi("b", "n1", "");
	put_migration("other", "b", "",
		"'addedNodeSelector':{'kubernetes.io/hostname':'host-3'},",
		"Pending");
	expect_node("host-3", 0, 0, 0, 1);
}

static void counts_a_migration_that_it_cannot_see(void **state)
{
	(void)state;
	put_vmi("a", "n1", STATE("unseen", ""));
	assert_int_equal(inventory_unfinished(&world.inventory), 1);
	expect_node("n1", 1, 0, 1, 0);
	expect_node("n2", 0, 1, 0, 1);
	put_migration("unseen", "a", OURS, "", "Running");
	assert_int_equal(inventory_unfinished(&world.inventory), 1);
	expect_node("n1", 1, 0, 0, 0);
	put_vmi("a", "n2", STATE("unseen", ",'completed':true"));
	put_migration("unseen", "a", OURS, "", "Succeeded");
	assert_int_equal(inventory_unfinished(&world.inventory), 0);
	expect_node("n1", 0, 0, 0, 0);
}

static void knows_that_a_node_is_being_emptied(void **state)
{
	struct json_value *file = given_file(GIVEN_DIR "evacuation.json");

	(void)state;
	assert_false(inventory_node(&world.inventory, "node-b").is_evicting);
	put_vmi_object(json_value_get(file, "vmi"));
	assert_true(inventory_node(&world.inventory, "node-b").is_evicting);
	put_migration_object(json_value_get(file, "vmim"));
	expect_node("node-b", 1, 0, 1, 0);
	json_value_free(file);
	/* The migration alone says it, too. */
	put_vmi("a", "n1", "");
	put_migration("kubevirt-evacuation-x", "a", "", "", "Pending");
	assert_true(inventory_node(&world.inventory, "n1").is_evicting);
	put_migration("kubevirt-evacuation-x", "a", "", "", "Failed");
	assert_false(inventory_node(&world.inventory, "n1").is_evicting);
}

static void beside_very_many_migrations_every_node_is_left_alone(void **state)
{
	(void)state;
	for (int i = 0; i < NODE_COUNTERS_MAX; i++) {
		scoped_free char *name = xasprintf("vm-%d", i);

		assert_false(
			inventory_node(&world.inventory, "n9").is_evicting);
		put_migration(name, name, "", "", "Pending");
	}
	assert_true(inventory_node(&world.inventory, "n9").is_evicting);
	put_migration("vm-0", "vm-0", "", "", "Failed");
	assert_false(inventory_node(&world.inventory, "n9").is_evicting);
}

static void the_next_migration_may_come_before_the_last_one_ends(void **state)
{
	const struct migration *found;

	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m1", "a", "", "", "Running");
	put_migration("m2", "a", "", "", "Pending");
	put_migration("m1", "a", "", "", "Succeeded");
	found = inventory_migration_of(&world.inventory, "vms", "a");
	assert_string_equal(found->name, "m2");
	inventory_remove_migration(&world.inventory, "m2");
	assert_null(inventory_migration_of(&world.inventory, "vms", "a"));
}

static void tells_that_the_vm_is_gone(void **state)
{
	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", OURS, "", "Running");
	inventory_remove_vmi(&world.inventory, "a-uid");
	inventory_remove_migration(&world.inventory, "m");
	expect_calls("m running n1->;m running n1-> no vmi;m gone;");
	assert_null(inventory_vmi(&world.inventory, "a-uid"));
	assert_int_equal(inventory_unfinished(&world.inventory), 0);
}

static void tells_that_a_migration_is_being_cancelled(void **state)
{
	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", OURS, "", "Running");
	put_migration("m", "a", "'deletionTimestamp':'x'," OURS, "", "Running");
	expect_calls("m running n1->;m running n1-> deleting;");
	assert_non_null(inventory_migration_for(&world.inventory, "id1"));
	assert_null(inventory_migration_for(&world.inventory, "id2"));
}

static void an_old_vmi_of_the_same_name_leaves_the_new_one_alone(void **state)
{
	struct json_value *fresh = given_json(
		"{'metadata':{'namespace':'vms','name':'a','uid':'2'},"
		"'status':{'phase':'Running','nodeName':'n9'}}");

	(void)state;
	put_vmi("a", "n1", "");
	put_vmi_object(fresh);
	inventory_remove_vmi(&world.inventory, "a-uid");
	put_migration("m", "a", "", "", "Pending");
	expect_calls("m pending n9->;");
	assert_string_equal(inventory_vmi(&world.inventory, "2")->node, "n9");
	json_value_free(fresh);
}

static void an_invalid_object_is_unknown(void **state)
{
	struct json_value *vmi = given_json(
		"{'metadata':{'namespace':'vms','name':'a',"
		"'uid':'a-uid','labels':{'x':1}}}");
	struct json_value *migration =
		given_json("{'metadata':{'name':'m','uid':'m'}}");

	(void)state;
	put_vmi("a", "n1", "");
	put_migration("m", "a", "", "", "Pending");
	assert_int_equal(inventory_put_vmi(&world.inventory, vmi, 1, NULL),
		-EBADMSG);
	assert_null(inventory_vmi(&world.inventory, "a-uid"));
	assert_int_equal(
		inventory_put_migration(&world.inventory, migration, 1, NULL),
		-EBADMSG);
	assert_int_equal(inventory_unfinished(&world.inventory), 0);
	json_value_free(vmi);
	json_value_free(migration);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(tells_when_a_vmi_allows_its_pods_something_else),
		CASE(follows_a_recorded_migration),
		CASE(tells_the_reason_that_comes_after_the_phase),
		CASE(forgets_a_finished_migration_after_a_minute),
		CASE(a_finished_migration_that_is_shown_again_is_no_younger),
		CASE(keeps_a_migration_that_is_unfinished_again),
		CASE(holds_no_migration_that_was_finished_before),
		CASE(waits_for_the_reason_of_one_that_failed_before),
		CASE(finds_the_target_by_its_hostname),
		CASE(counts_a_migration_that_it_cannot_see),
		CASE(beside_very_many_migrations_every_node_is_left_alone),
		CASE(knows_that_a_node_is_being_emptied),
		CASE(the_next_migration_may_come_before_the_last_one_ends),
		CASE(tells_that_the_vm_is_gone),
		CASE(tells_that_a_migration_is_being_cancelled),
		CASE(an_old_vmi_of_the_same_name_leaves_the_new_one_alone),
		CASE(an_invalid_object_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
