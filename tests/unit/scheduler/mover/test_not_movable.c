#include "scheduler/mover/not_movable.h"

#include "lib/buffer.h"
#include "tests/unit/scheduler/given.h"

static struct cache cache;
static struct not_movable held;
static char nothing[1];
static char namespace[] = "vms", name[] = "a", node[] = "node-1";

static int setup(void **state)
{
	(void)state;
	cache_init(&cache);
	held = (struct not_movable){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cache_fini(&cache);
	return 0;
}

static struct vmi a_vmi(void)
{
	return (struct vmi){ .namespace = namespace,
		.name = name,
		.node = node,
		.why_not = nothing,
		.is_migratable = true };
}

static void put_node(const char *annotations)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'node-1','annotations':%s},'status':"
		"{'allocatable':{'cpu':'16','memory':'64Gi','pods':'110'}}}",
		annotations);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(cache_put_node(&cache, &changed, object, 1, NULL), 0);
	json_value_free(object);
}

static void assert_why(const struct vmi *vmi, const char *why)
{
	held.count = 0;
	not_movable_note(&held, vmi, &cache);
	assert_int_equal(held.count, 1);
	assert_string_equal(held.list[0].why, why);
}

static void a_vm_that_may_move_is_not_named(void **state)
{
	struct vmi vmi = a_vmi();

	(void)state;
	put_node("{}");
	not_movable_note(&held, &vmi, &cache);
	not_movable_note(&held, NULL, &cache);
	put_node("{'plimsoll.io/move':'never'}");
	vmi.consent = CONSENT_ALLOWED;
	not_movable_note(&held, &vmi, &cache);
	assert_int_equal(held.count, 0);
}

static void the_annotation_that_decides_is_named(void **state)
{
	struct vmi vmi = a_vmi();

	(void)state;
	put_node("{'plimsoll.io/move':'never'}");
	assert_why(&vmi, "an annotation of the node forbids it");
	vmi.consent = CONSENT_NEVER;
	assert_why(&vmi, "an annotation of the VMI forbids it");
}

static void kubevirts_reason_is_repeated(void **state)
{
	static char reason[] = "VMI uses a PCI host device";
	struct vmi vmi = a_vmi();

	(void)state;
	vmi.is_migratable = false;
	assert_why(&vmi, "KubeVirt cannot migrate it: it gives no reason");
	vmi.why_not = reason;
	assert_why(&vmi,
		"KubeVirt cannot migrate it: VMI uses a PCI host device");
}

static void a_vm_with_disks_to_copy_is_named(void **state)
{
	struct vmi vmi = a_vmi();

	(void)state;
	vmi.copies_disks = true;
	assert_why(&vmi,
		"KubeVirt would copy its disks as well (BlockMigration)");
}

static void a_vm_that_finds_no_node_is_named_once(void **state)
{
	const struct host_demand demand = { "CPU vendor", "Intel" };
	struct pod pod = { .namespace = namespace, .vm_name = name };
	const struct node at = { .name = node };

	(void)state;
	not_movable_note_demand(&held, &pod, &at, &demand);
	not_movable_note_demand(&held, &pod, &at, &demand);
	assert_int_equal(held.count, 1);
	assert_string_equal(held.list[0].vm, name);
	assert_string_equal(held.list[0].node, node);
	assert_string_equal(held.list[0].why,
		"its CPU vendor Intel is on no other node with room");
	not_movable_forget_demand(&held, &pod);
	not_movable_forget_demand(&held, &pod);
	assert_int_equal(held.count, 0);
	held.count = NOT_MOVABLE_MAX;
	not_movable_note_demand(&held, &pod, &at, &demand);
	assert_int_equal(held.count, NOT_MOVABLE_MAX);
}

static void expect_explained(bool names_vms, const char *expected)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	buffer_text(&why, "");
	not_movable_explain(&held, names_vms, &why);
	assert_string_equal(why.data, expected);
}

static void the_first_vm_that_finds_no_node_explains(void **state)
{
	const struct host_demand demand = { "CPU vendor", "Intel" };
	static char second[] = "b";
	struct pod pod = { .namespace = namespace, .vm_name = second };
	const struct node at = { .name = node };
	struct vmi vmi = a_vmi();

	(void)state;
	vmi.consent = CONSENT_NEVER;
	not_movable_note(&held, &vmi, &cache);
	expect_explained(true, "");
	not_movable_note_demand(&held, &pod, &at, &demand);
	expect_explained(true,
		", and vms/b stays on node-1: its CPU vendor Intel is on no "
		"other node with room");
	expect_explained(false,
		", and a VM stays on node-1: its CPU vendor Intel is on no "
		"other node with room");
}

static void the_list_is_bounded(void **state)
{
	struct vmi vmi = a_vmi();
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct json j = json_into(&out);

	(void)state;
	vmi.consent = CONSENT_NEVER;
	not_movable_note(&held, &vmi, &cache);
	json_object(&j, NULL);
	not_movable_write(&j, &held);
	json_object_end(&j);
	assert_string_equal(out.data,
		"{\"held_back\":[{\"namespace\":\"vms\",\"vm\":\"a\","
		"\"node\":\"node-1\",\"why\":\"an annotation of the VMI "
		"forbids it\"}]}");
	for (size_t i = 0; i < 2 * (size_t)NOT_MOVABLE_MAX; i++) {
		not_movable_note(&held, &vmi, &cache);
	}
	assert_int_equal(held.count, NOT_MOVABLE_MAX);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_vm_that_may_move_is_not_named),
		test(the_annotation_that_decides_is_named),
		test(kubevirts_reason_is_repeated),
		test(a_vm_with_disks_to_copy_is_named),
		test(a_vm_that_finds_no_node_is_named_once),
		test(the_first_vm_that_finds_no_node_explains),
		test(the_list_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
