/* How many nodes each VM can still reach, with a stand-in for KubeVirt whose
 * next pods are derived as always. */
#include "scheduler/mover/reach.h"

#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "tests/support/fake_timers.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

#define SECOND_US UINT64_C(1000000)

enum { VMIS_MAX = 8 };

static struct scene {
	struct cache cache;
	struct launcher_templates templates;
	struct vmi vmis[VMIS_MAX];
	size_t vmi_count;
	unsigned derived; /* next pods */
	bool is_unready, is_unknown;
	uv_loop_t loop;
	struct reach *reach;
} scene;

/* ---- stand-ins ---- */

const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	(void)kubevirt;
	for (size_t i = 0; i < scene.vmi_count; i++) {
		if (strcmp(scene.vmis[i].uid, uid) == 0) {
			return &scene.vmis[i];
		}
	}
	return NULL;
}

bool kubevirt_next_pod(const struct kubevirt *kubevirt, struct next_pod *out,
	const struct pod *running, const struct labels *source,
	struct buffer *why)
{
	const struct vmi *vmi = kubevirt_vmi_of(kubevirt, running);

	scene.derived++;
	*out = (struct next_pod){ 0 };
	return !scene.is_unknown &&
		next_pod_derive(out, &scene.templates,
			&(const struct next_pod_question){ .vm = &vmi->launcher,
				.settings = &launcher_settings_default,
				.running = running,
				.source = source },
			why);
}

static bool is_ready(void *owner)
{
	(void)owner;
	return !scene.is_unready;
}

/* ---- what is given ---- */

/* A node with a working KVM device; labels and spec: members of the object. */
static void put_node(const char *name, const char *labels, const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
		"'%s','kubernetes.io/arch':'amd64',"
		"'kubevirt.io/schedulable':'true'%s}},'spec':{%s},'status':{"
		"'allocatable':{'cpu':'16','memory':'64Gi','pods':'110',"
		"'ephemeral-storage':'100Gi',"
		"'devices.kubevirt.io/kvm':'1k','devices.kubevirt.io/"
		"vhost-net':'1k'}}}",
		name, name, labels, spec);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(
		cache_put_node(&scene.cache, &changed, object, 0, NULL), 0);
	json_value_free(object);
}

static void put_pod(const char *name, const char *node, const char *memory,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'vms',"
		"'uid':'pod-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s'},"
		"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{%s"
		"'nodeName':'%s','containers':[{'name':'compute','resources':{"
		"'requests':{'cpu':'800m','memory':'%s',"
		"'ephemeral-storage':'50M','devices.kubevirt.io/kvm':'1'}}}]},"
		"'status':{'phase':'Running'}}",
		name, name, name, name, spec, node, memory);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json), 0);
}

/* The VMI of a VM that runs; spec: members before its domain; guest: its
 * memory. */
static struct vmi *put_vmi(const char *name, const char *node, const char *spec,
	const char *guest)
{
	struct vmi *vmi = &scene.vmis[scene.vmi_count++];
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'vms'},'spec':{%s"
		"'architecture':'amd64','domain':{'cpu':{'cores':8},"
		"'memory':{'guest':'%s'}}}}",
		name, spec, guest);
	struct json_value *object = given_json(json);

	*vmi = (struct vmi){ .namespace = xstrdup("vms"),
		.name = xstrdup(name),
		.uid = xasprintf("vmi-%s", name),
		.node = xstrdup(node),
		.is_running = true };
	launcher_vm_read(&vmi->launcher, scene.cache.interner, object);
	json_value_free(object);
	return vmi;
}

static struct vmi *put_vm(const char *name, const char *node, const char *spec)
{
	put_pod(name, node, "4Gi", "");
	return put_vmi(name, node, spec, "4Gi");
}

static void put_object(enum storage_kind kind, const char *json)
{
	struct json_value *object = given_json(json);

	assert_int_equal(storage_put(&scene.cache.cluster.storage, kind,
				 scene.cache.interner, object, NULL),
		0);
	json_value_free(object);
}

/* ---- steps ---- */

static bool has_due_timer(void)
{
	struct fake_timer *t;
	bool has_due = false;

	TAILQ_FOREACH(t, &fake_timers, link)
	{
		has_due |= t->is_due;
	}
	return has_due;
}

static void pass_s(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		fake_clock_move(SECOND_US);
		while (has_due_timer()) {
			(void)uv_run(&scene.loop, UV_RUN_ONCE);
		}
	}
}

/* "a:2 b:0 ", as the last look found them. */
static void expect(const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);
	struct reach_stats stats;

	reach_stats(scene.reach, &stats);
	assert_true(stats.is_known);
	buffer_text(&out, "");
	for (size_t i = 0; i < stats.count; i++) {
		unsigned nodes;
		const char *vm = reach_vm(scene.reach, i, &nodes);

		assert_memory_equal(vm, "vms/", 4);
		buffer_printf(&out, "%s:%u ", vm + 4, nodes);
	}
	assert_string_equal(out.data, text);
}

static size_t stranded(void)
{
	struct reach_stats stats;

	reach_stats(scene.reach, &stats);
	return stats.stranded;
}

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ 0 };
	fake_clock_set(1000 * SECOND_US, 1800000000 * SECOND_US);
	cache_init(&scene.cache);
	scene.templates.interner = scene.cache.interner;
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	scene.reach =
		reach_new(&(const struct reach_options){ .loop = &scene.loop,
			.cache = &scene.cache,
			.is_ready = is_ready });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reach_close(scene.reach);
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	for (size_t i = 0; i < scene.vmi_count; i++) {
		struct vmi *vmi = &scene.vmis[i];

		launcher_vm_fini(&vmi->launcher, scene.cache.interner);
		free(vmi->namespace);
		free(vmi->name);
		free(vmi->uid);
		free(vmi->node);
	}
	launcher_templates_fini(&scene.templates);
	cache_fini(&scene.cache);
	return 0;
}

/* ---- tests ---- */

static void a_vm_reaches_the_nodes_that_its_vmi_selects_now(void **state)
{
	(void)state;
	put_node("a", "", "");
	put_node("b", ",'disk':'ssd'", "");
	put_node("c", ",'disk':'ssd'", "");
	(void)put_vm("free", "a", "");
	(void)put_vm("ssd", "a", "'nodeSelector':{'disk':'ssd'},");
	(void)put_vm("there", "b", "'nodeSelector':{'disk':'ssd'},");
	(void)put_vm("none", "b", "'nodeSelector':{'disk':'tape'},");
	pass_s(1);
	expect("free:2 ssd:2 there:1 none:0 ");
	assert_int_equal(stranded(), 1);
}

static void what_people_set_counts_and_what_passes_does_not(void **state)
{
	(void)state;
	put_node("a", "", "");
	put_node("cordoned", "",
		"'unschedulable':true,'taints':[{'key':"
		"'node.kubernetes.io/unschedulable','effect':'NoSchedule'}]");
	put_node("drained", "",
		"'taints':[{'key':'kubevirt.io/drain','effect':'NoSchedule'}]");
	put_node("lost", "",
		"'taints':[{'key':'node.kubernetes.io/unreachable',"
		"'effect':'NoExecute'}]");
	put_node("kept", "",
		"'taints':[{'key':'team','value':'red','effect':"
		"'NoSchedule'}]");
	(void)put_vm("any", "a", "");
	(void)put_vm("red", "a",
		"'tolerations':[{'key':'team','operator':'Exists'}],");
	pass_s(1);
	expect("any:3 red:4 ");
}

static void what_others_hold_does_not_count_but_the_size_of_a_node_does(
	void **state)
{
	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	put_pod("full", "b", "62Gi", "");
	(void)put_vmi("full", "b", "", "62Gi");
	(void)put_vm("small", "a", "");
	put_pod("huge", "a", "65Gi", "");
	(void)put_vmi("huge", "a", "", "65Gi");
	pass_s(1);
	expect("small:1 huge:0 full:1 ");
}

static void volumes_are_where_they_are(void **state)
{
	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	put_node("c", "", "");
	put_object(STORAGE_VOLUMES,
		"{'metadata':{'name':'local'},'spec':{'capacity':{'storage':"
		"'1Gi'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
		"'matchExpressions':[{'key':'kubernetes.io/hostname',"
		"'operator':'In','values':['a','b']}]}]}}}}");
	put_object(STORAGE_CLAIMS,
		"{'metadata':{'name':'disk','namespace':'vms','annotations':{"
		"'pv.kubernetes.io/bind-completed':'yes'}},'spec':{"
		"'volumeName':'local'}}");
	put_pod("near", "a", "4Gi",
		"'volumes':[{'name':'d','persistentVolumeClaim':{'claimName':"
		"'disk'}}],");
	(void)put_vmi("near", "a", "", "4Gi");
	(void)put_vm("far", "a", "");
	pass_s(1);
	expect("near:1 far:2 ");
}

static void broken_kvm_keeps_vms_away(void **state)
{
	static char name[] = "b";
	struct node_load load = given_load(1, 0);
	bool changed;

	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	(void)put_vm("vm", "a", "");
	load.name = name;
	load.kvm_state = KVM_MISSING;
	cache_put_load(&scene.cache, &changed, &load,
		(int64_t)fake_clock.monotonic_us,
		(int64_t)fake_clock.monotonic_us);
	pass_s(1);
	expect("vm:0 ");
}

static void what_is_not_known_is_in_no_list(void **state)
{
	struct reach_stats stats;

	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	put_pod("stranger", "a", "4Gi", "");
	put_vm("ending", "a", "")->is_running = false;
	(void)put_vm("vm", "a", "");
	scene.is_unready = true;
	pass_s(1);
	reach_stats(scene.reach, &stats);
	assert_false(stats.is_known);
	scene.is_unready = false;
	pass_s(1);
	expect("vm:1 ");
	scene.is_unready = true;
	pass_s(1);
	reach_stats(scene.reach, &stats);
	assert_false(stats.is_known);
	assert_int_equal(stats.count, 0);
	scene.is_unready = false;
	scene.is_unknown = true;
	pass_s(1);
	expect("");
}

static void looks_follow_each_other_after_a_rest(void **state)
{
	unsigned derived;

	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	(void)put_vm("vm", "a", "");
	pass_s(1);
	derived = scene.derived;
	put_node("c", "", "");
	pass_s(REACH_EVERY_US / SECOND_US - 1);
	assert_int_equal(scene.derived, derived);
	expect("vm:1 ");
	pass_s(2);
	expect("vm:2 ");
}

static void a_look_that_costs_much_rests_for_long(void **state)
{
	unsigned derived;

	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	(void)put_vm("vm", "a", "");
	/* Each read of the clock is a second of work. */
	fake_clock.step_us = SECOND_US;
	pass_s(1);
	fake_clock.step_us = 0;
	expect("vm:1 ");
	derived = scene.derived;
	pass_s(REACH_EVERY_US / SECOND_US + 10);
	assert_int_equal(scene.derived, derived);
	pass_s(REACH_PART * 20);
	assert_true(scene.derived > derived);
}

/* The uids of the pods of VMs that stand where they may not, each with a
 * space. */
static void expect_misplaced(const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);
	struct reach_stats stats;

	reach_stats(scene.reach, &stats);
	assert_true(stats.is_known);
	buffer_text(&out, "");
	for (size_t i = 0; i < stats.misplaced; i++) {
		buffer_printf(&out, "%s ", reach_misplaced(scene.reach, i));
	}
	assert_string_equal(out.data, text);
}

/* Such a VM shares its node with no other one. */
#define ALONE                                                                  \
	"'affinity':{'podAntiAffinity':{"                                      \
	"'requiredDuringSchedulingIgnoredDuringExecution':[{"                  \
	"'labelSelector':{'matchLabels':{'kubevirt.io':'virt-launcher'}},"     \
	"'topologyKey':'kubernetes.io/hostname'}]}},"

static void vms_that_stand_where_they_may_not_are_found(void **state)
{
	(void)state;
	put_node("a", "", "");
	put_node("b", "", "");
	(void)put_vm("there", "a", "");
	(void)put_vm("elsewhere", "a",
		"'nodeSelector':{'kubernetes.io/hostname':'b'},");
	(void)put_vm("alone", "a", ALONE);
	pass_s(1);
	expect_misplaced("pod-elsewhere pod-alone ");
	scene.is_unready = true;
	pass_s(1);
	scene.is_unready = false;
	pass_s(1);
	expect_misplaced("pod-elsewhere pod-alone ");
}

static void what_costs_too_much_waits_for_the_next_look(void **state)
{
	(void)state;
	put_node("a", "", "");
	(void)put_vm("one", "a", ALONE);
	(void)put_vm("two", "a", ALONE);
	(void)put_vm("three", "a", ALONE);
	/* Each read of the clock is a second of work. */
	fake_clock.step_us = SECOND_US;
	pass_s(1);
	expect_misplaced("pod-one ");
	/* Every look costs some ten seconds. */
	pass_s(REACH_PART * 6);
	expect_misplaced("pod-one pod-two ");
	pass_s(REACH_PART * 6);
	expect_misplaced("pod-one pod-two pod-three ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_vm_reaches_the_nodes_that_its_vmi_selects_now),
		TEST(what_people_set_counts_and_what_passes_does_not),
		TEST(what_others_hold_does_not_count_but_the_size_of_a_node_does),
		TEST(volumes_are_where_they_are),
		TEST(broken_kvm_keeps_vms_away),
		TEST(what_is_not_known_is_in_no_list),
		TEST(looks_follow_each_other_after_a_rest),
		TEST(a_look_that_costs_much_rests_for_long),
		TEST(vms_that_stand_where_they_may_not_are_found),
		TEST(what_costs_too_much_waits_for_the_next_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
