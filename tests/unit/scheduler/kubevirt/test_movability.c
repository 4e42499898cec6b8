#include "scheduler/kubevirt/movability.h"

#include "tests/unit/scheduler/given.h"

static char empty[1], namespace[] = "vms", name[] = "a", other[] = "b";
static char here[] = "node-1", elsewhere[] = "node-2";

struct bed {
	struct interner *interner;
	struct cluster cluster;
	struct vmi vmi;
	struct pod pod;
	struct node node;
};

static int setup(void **state)
{
	struct bed *bed = xcalloc(1, sizeof(*bed));

	bed->interner = interner_new();
	cluster_init(&bed->cluster, bed->interner);
	bed->vmi = (struct vmi){ .namespace = namespace,
		.name = name,
		.node = here,
		.evacuating = empty,
		.why_not = empty,
		.is_running = true,
		.is_migratable = true };
	bed->pod.namespace = namespace;
	bed->pod.vm_name = name;
	bed->pod.node_name = here;
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	cluster_fini(&bed->cluster);
	interner_free(bed->interner);
	free(bed);
	return 0;
}

static bool may_move(const struct bed *bed, struct buffer *why)
{
	return movability_check(&bed->vmi, &bed->pod, &bed->node, &bed->cluster,
		why);
}

static void assert_refused(const struct bed *bed, const char *words)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	assert_false(may_move(bed, NULL));
	assert_false(may_move(bed, &why));
	assert_string_equal(why.data, words);
}

static void put_namespace(struct bed *bed, const char *word)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'vms','annotations':{'%s':'%s'}}}",
		CONSENT_ANNOTATION, word);
	struct json_value *object = given_json(json);

	assert_int_equal(cluster_put_object(&bed->cluster, CLUSTER_NAMESPACES,
				 object, NULL),
		0);
	json_value_free(object);
}

static void a_running_vm_may_move_if_nobody_objects(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct bed *bed = *state;

	assert_true(may_move(bed, &why));
	assert_int_equal(why.len, 0);
	assert_true(movability_check(&bed->vmi, &bed->pod, NULL, &bed->cluster,
		NULL));
}

static void a_vm_without_a_vmi_stays(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct bed *bed = *state;

	assert_false(movability_check(NULL, &bed->pod, &bed->node,
		&bed->cluster, &why));
	assert_string_equal(why.data, "is unknown to KubeVirt");
}

static void a_vmi_is_believed_of_its_own_pod_only(void **state)
{
	struct bed *bed = *state;

	bed->pod.vm_name = other;
	assert_refused(bed, "has another name in its pod's annotation");
	bed->pod.vm_name = name;
	bed->pod.namespace = other;
	assert_refused(bed, "has another name in its pod's annotation");
	bed->pod.namespace = namespace;
	bed->pod.node_name = elsewhere;
	assert_refused(bed, "runs on another node");
}

static void a_vm_that_does_not_run_stays(void **state)
{
	struct bed *bed = *state;

	bed->vmi.is_running = false;
	assert_refused(bed, "is not running");
	bed->vmi.is_running = true;
	bed->pod.is_provisional = true;
	assert_refused(bed, "is not running");
	bed->pod.is_provisional = false;
	bed->pod.is_deleting = true;
	assert_refused(bed, "is being deleted");
}

static void a_vm_on_its_way_stays(void **state)
{
	struct bed *bed = *state;

	bed->vmi.evacuating = here;
	assert_refused(bed, "leaves its node (evacuation)");
	bed->vmi.is_migratable = false;
	assert_refused(bed, "cannot be migrated: KubeVirt gives no reason");
	bed->vmi.is_migratable = true;
	bed->vmi.is_migrating = true;
	assert_refused(bed, "is being migrated");
	bed->vmi.is_migrating = false;
	bed->pod.is_target = true;
	assert_refused(bed, "is being migrated");
}

static void kubevirts_reason_is_repeated(void **state)
{
	static char reason[] = "VMI uses a PCI host device";
	struct bed *bed = *state;

	bed->vmi.is_migratable = false;
	assert_refused(bed, "cannot be migrated: KubeVirt gives no reason");
	bed->vmi.why_not = reason;
	assert_refused(bed, "cannot be migrated: VMI uses a PCI host device");
	bed->vmi.copies_disks = true;
	assert_refused(bed, "would have its disks copied (BlockMigration)");
}

static void the_vmis_word_wins_and_between_the_others_never_wins(void **state)
{
	struct bed *bed = *state;

	bed->node.consent = CONSENT_NEVER;
	assert_refused(bed,
		"must not be moved: an annotation of the node forbids it");
	put_namespace(bed, "allowed");
	assert_refused(bed,
		"must not be moved: an annotation of the node forbids it");
	put_namespace(bed, "never");
	assert_refused(bed,
		"must not be moved: an annotation of the namespace forbids it");
	bed->vmi.consent = CONSENT_ALLOWED;
	assert_true(may_move(bed, NULL));
	bed->vmi.consent = CONSENT_NEVER;
	assert_refused(bed,
		"must not be moved: an annotation of the VMI forbids it");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_running_vm_may_move_if_nobody_objects),
		test(a_vm_without_a_vmi_stays),
		test(a_vmi_is_believed_of_its_own_pod_only),
		test(a_vm_that_does_not_run_stays),
		test(a_vm_on_its_way_stays),
		test(kubevirts_reason_is_repeated),
		test(the_vmis_word_wins_and_between_the_others_never_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
