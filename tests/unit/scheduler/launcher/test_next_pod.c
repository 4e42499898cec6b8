/* The pod that KubeVirt creates next for a running VM. */
#include "scheduler/launcher/next_pod.h"

#include "tests/unit/scheduler/given.h"

#define GIB (INT64_C(1) << 30)

static struct interner *interner;
static struct launcher_templates templates;

static const char new_host[] =
	"{'kubernetes.io/hostname':'new-1',"
	"'host-model-cpu.node.kubevirt.io/Icelake-Server':'true',"
	"'host-model-required-features.node.kubevirt.io/gfni':'true',"
	"'cpu-vendor.node.kubevirt.io/Intel':'true'}";

static const char usual_vmi[] =
	"'architecture':'amd64','domain':{'cpu':{'cores':4,"
	"'model':'host-model'},'memory':{'guest':'4Gi'}}";

/* The input: members of the VMI's spec, of its status, of the pod's spec, and
 * the labels of the node; NULL: the VM starts again. */
struct given {
	const char *spec, *status, *pod, *node;
	const char *cr;	    /* NULL: the defaults */
	const char *labels; /* of the pod */
};

struct derived {
	struct pod *running;
	struct launcher_vm vm;
	struct next_pod next;
	struct labels node;
	struct buffer why;
	bool is_known;
};

static void read_cr(struct launcher_settings *out, const char *text)
{
	struct json_value *object = text == NULL ? NULL : given_json(text);

	launcher_settings_read(out, object);
	json_value_free(object);
}

static void read_vmi(struct derived *d, const struct given *given)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'db','namespace':'vms','labels':{"
		"'app':'db'}},'spec':{%s},"
		"'status':{%s}}",
		given->spec, given->status == NULL ? "" : given->status);
	struct json_value *object = given_json(text);

	launcher_vm_read(&d->vm, interner, object);
	json_value_free(object);
}

static void read_node(struct derived *d, const struct given *given)
{
	struct json_value *object =
		given_json(given->node == NULL ? "{}" : given->node);
	struct error err;

	if (labels_read(&d->node, interner, object, &err) < 0) {
		fail_msg("%s", err.text);
	}
	json_value_free(object);
}

static struct derived derive(const struct given *given)
{
	scoped_free char *pod = xasprintf(
		"{'metadata':{'name':'launcher','namespace':'vms',"
		"'labels':{'kubevirt.io':'virt-launcher'%s}},'spec':{"
		"'nodeName':'new-1',%s}}",
		given->labels == NULL ? "" : given->labels, given->pod);
	struct derived d = { .why = BUFFER_MAX(1024) };
	struct launcher_settings settings;

	read_cr(&settings, given->cr);
	read_vmi(&d, given);
	read_node(&d, given);
	d.running = given_pod(interner, pod);
	d.is_known = next_pod_derive(&d.next, &templates,
		&(const struct next_pod_question){ .vm = &d.vm,
			.settings = &settings,
			.running = d.running,
			.source = given->node == NULL ? NULL : &d.node },
		&d.why);
	return d;
}

static void release(struct derived *d)
{
	next_pod_fini(&d->next);
	labels_fini(&d->node, interner);
	launcher_vm_fini(&d->vm, interner);
	pod_free(d->running);
	buffer_fini(&d->why);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "key=value" in the order of the keys, without the ones of each pod. */
static char *selector_of(const struct pod *pod)
{
	struct buffer text = BUFFER_MAX(4096);
	char *list[64];
	size_t count = 0;

	for (size_t i = 0; i < labels_slot_count(&pod->node_selector); i++) {
		const struct label *label = &pod->node_selector.slots[i];

		if (label->key != 0) {
			assert_true(count < count_of(list));
			list[count++] = xasprintf("%s=%s",
				interner_text(interner, label->key),
				interner_text(interner, label->value));
		}
	}
	qsort(list, count, sizeof(*list), compare_texts);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i], "kubevirt.io/schedulable=true") != 0 &&
			strcmp(list[i], "kubernetes.io/arch=amd64") != 0) {
			buffer_printf(&text, "%s ", list[i]);
		}
		free(list[i]);
	}
	return buffer_take(&text, NULL);
}

static void expect_selector(const struct given *given, const char *expected)
{
	struct derived d = derive(given);
	scoped_free char *selector = NULL;

	if (!d.is_known) {
		fail_msg("%s", d.why.data);
	}
	selector = selector_of(&d.next.pod);
	assert_string_equal(selector, expected);
	release(&d);
}

static void expect_unknown(const struct given *given, const char *why)
{
	struct derived d = derive(given);

	assert_false(d.is_known);
	assert_string_equal(d.why.data, why);
	assert_null(d.next.parts);
	release(&d);
}

/* ---- node selector ---- */

static void a_first_migration_requires_the_model_of_the_host(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){ .spec = usual_vmi,
			.pod = "'nodeSelector':{'kubernetes.io/arch':'amd64'}",
			.node = new_host },
		"cpu-feature.node.kubevirt.io/gfni=true "
		"cpu-model-migration.node.kubevirt.io/Icelake-Server=true "
		"cpu-vendor.node.kubevirt.io/Intel=true ");
}

static void later_migrations_keep_the_model_of_the_first_host(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){ .spec = usual_vmi,
			.pod = "'nodeSelector':{'cpu-model-migration.node."
			       "kubevirt.io/Skylake-Server':'true',"
			       "'cpu-vendor.node.kubevirt.io/Intel':'true'}",
			.node = new_host },
		"cpu-model-migration.node.kubevirt.io/Skylake-Server=true "
		"cpu-vendor.node.kubevirt.io/Intel=true ");
}

/* KubeVirt takes the key of the feature for one of the first host. */
static void a_host_without_a_model_requires_no_features(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){ .spec = usual_vmi,
			.pod = "'nodeSelector':{}",
			.node = "{'host-model-required-features.node.kubevirt"
				".io/gfni':'true',"
				"'cpu-vendor.node.kubevirt.io/AMD':'true'}" },
		"cpu-vendor.node.kubevirt.io/AMD=true ");
}

static void a_required_feature_keeps_the_model_away(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){
			.spec = "'domain':{'cpu':{'model':'host-model',"
				"'features':[{'name':'aes'},{'name':'vmx',"
				"'policy':'forbid'}]},"
				"'memory':{'guest':'4Gi'}}",
			.pod = "'nodeSelector':{'cpu-feature.node.kubevirt.io/"
			       "aes':'true'}",
			.node = new_host },
		"cpu-feature.node.kubevirt.io/aes=true "
		"cpu-vendor.node.kubevirt.io/Intel=true ");
}

static void a_named_model_needs_no_host(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){
			.spec = "'domain':{'cpu':{'model':'Haswell'},"
				"'memory':{'guest':'4Gi'}}",
			.pod = "'nodeSelector':{}",
			.node = "{'cpu-vendor.node.kubevirt.io/AMD':'true'}" },
		"cpu-model.node.kubevirt.io/Haswell=true "
		"cpu-vendor.node.kubevirt.io/AMD=true ");
}

static void kubevirt_1_7_does_not_require_the_vendor(void **state)
{
	(void)state;
	expect_selector(&(const struct given){ .spec = usual_vmi,
				.pod = "'nodeSelector':{}",
				.node = new_host,
				.cr = "{'status':{'observedKubeVirtVersion':"
				      "'v1.7.0'}}" },
		"cpu-feature.node.kubevirt.io/gfni=true "
		"cpu-model-migration.node.kubevirt.io/Icelake-Server=true ");
}

static void a_start_requires_neither_model_nor_vendor_of_a_host(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){ .spec = usual_vmi,
			.pod = "'nodeSelector':{'cpu-model-migration.node."
			       "kubevirt.io/Skylake-Server':'true'}" },
		"");
}

static void the_selector_is_that_of_the_vmi_now(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){
			.spec = "'nodeSelector':{'pool':'b'},'domain':{'cpu':{"
				"'model':'host-passthrough'},"
				"'memory':{'guest':'4Gi'}}",
			.pod = "'nodeSelector':{'pool':'a','added':'x',"
			       "'machine-type.node.kubevirt.io/q35':'true'}",
			.status = "'machine':{'type':'pc-q35-10.1'}",
			.node = "{}" },
		"machine-type.node.kubevirt.io/pc-q35-10.1=true pool=b ");
}

static void the_cr_adds_selectors_below_those_of_the_vmi(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){
			.spec = "'nodeSelector':{'pool':'b'},'domain':{"
				"'memory':{'guest':'4Gi'}}",
			.pod = "'nodeSelector':{}",
			.node = "{}",
			.cr = "{'spec':{'configuration':{"
			      "'developerConfiguration':{'nodeSelectors':{"
			      "'pool':'a','vms':'yes'}}}}}" },
		"pool=b vms=yes ");
}

/* The status has the type that the VM started with. */
static void the_machine_type_is_that_of_the_running_vm(void **state)
{
#define MACHINE_VMI                                                            \
	"'domain':{'machine':{'type':'q35'},'memory':{'guest':'4Gi'}}"

	(void)state;
	expect_selector(&(const struct given){ .spec = MACHINE_VMI,
				.pod = "'nodeSelector':{}",
				.node = "{}" },
		"machine-type.node.kubevirt.io/q35=true ");
	expect_selector(
		&(const struct given){ .spec = MACHINE_VMI,
			.status = "'machine':{'type':'pc-q35-rhel9.4.0'}",
			.pod = "'nodeSelector':{}",
			.node = "{}" },
		"machine-type.node.kubevirt.io/pc-q35-rhel9.4.0=true ");
}

static void features_of_the_vm_are_required_of_the_node(void **state)
{
	static const char spec[] =
		"'domain':{'cpu':{'model':'host-passthrough',"
		"'dedicatedCpuPlacement':true,'realtime':{},'features':[{"
		"'name':'invtsc','policy':'require'}]},'features':{'hyperv':{"
		"'vpindex':{'enabled':true},'synic':{},'evmcs':{}}},"
		"'launchSecurity':{'sev':{'policy':{'encryptedState':true}}},"
		"'memory':{'guest':'4Gi'}}";
	static const char always[] =
		"kubevirt.io/cpumanager=true kubevirt.io/realtime=true "
		"kubevirt.io/sev-es=true kubevirt.io/sev=true "
		"scheduling.node.kubevirt.io/tsc-frequency-2000000000=true ";
	scoped_free char *all = xasprintf(
		"cpu-feature.node.kubevirt.io/invtsc=true %s", always);
	scoped_free char *strict = xasprintf(
		"cpu-feature.node.kubevirt.io/invtsc=true "
		"cpu-vendor.node.kubevirt.io/Intel=true "
		"hyperv.node.kubevirt.io/vpindex=true %s",
		always);
	struct given given = { .spec = spec,
		.status = "'topologyHints':{'tscFrequency':2000000000}",
		.pod = "'nodeSelector':{}",
		.node = "{}" };

	(void)state;
	expect_selector(&given, all);
	given.cr =
		"{'spec':{'configuration':{'developerConfiguration':{"
		"'featureGates':['HypervStrictCheck']}}}}";
	expect_selector(&given, strict);
}

static void an_emulated_architecture_needs_another_label(void **state)
{
	(void)state;
	expect_selector(
		&(const struct given){
			.spec = "'architecture':'arm64','nodeSelector':{"
				"'kubernetes.io/arch':'arm64'},'domain':{"
				"'memory':{'guest':'4Gi'}}",
			.pod = "'nodeSelector':{}",
			.node = "{}",
			.cr = "{'spec':{'configuration':{"
			      "'developerConfiguration':{'featureGates':["
			      "'CrossArchitectureVirtualization']}}}}" },
		"kubevirt.io/vm-arch-arm64=true ");
}

/* ---- other constraints ---- */

static void affinity_and_the_rest_are_those_of_the_vmi_now(void **state)
{
	struct derived d = derive(&(const struct given){
		.spec = "'affinity':{'podAntiAffinity':{"
			"'requiredDuringSchedulingIgnoredDuringExecution':[{"
			"'labelSelector':{'matchLabels':{'app':'db'}},"
			"'topologyKey':'kubernetes.io/hostname'}]}},"
			"'tolerations':[{'key':'gpu','operator':'Exists'}],"
			"'topologySpreadConstraints':[{'maxSkew':1,"
			"'topologyKey':'zone','whenUnsatisfiable':"
			"'DoNotSchedule','labelSelector':{},"
			"'matchLabelKeys':['app']}],"
			"'domain':{'cpu':{'features':[{'name':'vmx',"
			"'policy':'forbid'}]},'memory':{'guest':'4Gi'}}",
		.pod = "'tolerations':[{'key':'a'},{'key':'b'}]",
		.node = "{}" });
	const struct pod *pod = &d.next.pod;

	(void)state;
	assert_true(d.is_known);
	assert_int_equal(pod->affinity.required_anti.count, 1);
	assert_int_equal(pod->affinity.required_anti.list[0].namespaces[0],
		interner_find(interner, "vms"));
	assert_int_equal(pod->tolerations.count, 1);
	assert_int_equal(pod->spread.hard_count, 1);
	assert_int_equal(pod->spread.list[0].selector.count, 1);
	/* No obsolete host model, no forbidden feature. */
	assert_int_equal(pod->required.count, 1);
	assert_int_equal(pod->required.list[0].all.count, 2);
	assert_string_equal(pod->node_name, "");
	release(&d);
}

static void vms_that_ask_for_the_same_share_the_parts(void **state)
{
	const struct given given = { .spec = usual_vmi,
		.pod = "'nodeSelector':{}",
		.node = new_host };
	struct derived a = derive(&given), b = derive(&given);

	(void)state;
	assert_int_equal(a.vm.parts, b.vm.parts);
	assert_ptr_equal(a.next.parts, b.next.parts);
	launcher_templates_sweep(&templates);
	launcher_templates_sweep(&templates);
	assert_int_equal(templates.by_parts.count, 0);
	assert_int_equal(a.next.pod.required.count, 1); /* still there */
	release(&a);
	release(&b);
}

/* ---- amounts ---- */

#define COMPUTE(cpu, memory)                                                   \
	"'containers':[{'name':'compute','resources':{'requests':{'cpu':'" cpu \
	"','memory':'" memory                                                  \
	"'}}},{'name':'sidecar','resources':{"                                 \
	"'requests':{'cpu':'10m','memory':'1Gi'}}}]"

static void expect_amounts(const struct given *given, int64_t milli,
	int64_t bytes)
{
	struct derived d = derive(given);

	if (!d.is_known) {
		fail_msg("%s", d.why.data);
	}
	assert_int_equal(d.next.pod.requests.cpu_milli, milli);
	assert_int_equal(d.next.pod.requests.memory_bytes, bytes);
	assert_int_equal(d.running->requests.cpu_milli +
			d.next.pod.requests.nonzero_milli -
			d.running->requests.nonzero_milli,
		milli);
	release(&d);
}

static void amounts_are_copied_from_the_running_pod(void **state)
{
	(void)state;
	expect_amounts(&(const struct given){ .spec = usual_vmi,
			       .pod = COMPUTE("400m", "4390Mi"),
			       .node = new_host },
		410, (INT64_C(4390) << 20) + GIB);
}

static int64_t scalar_of(const struct pod *pod, const char *name)
{
	const struct resources *r = &pod->requests;

	for (size_t i = 0; i < r->scalar_count; i++) {
		if (strcmp(interner_text(interner, r->scalars[i].resource),
			    name) == 0) {
			return r->scalars[i].value;
		}
	}
	return 0;
}

static void devices_follow_the_cr(void **state)
{
	struct derived d = derive(&(const struct given){ .spec = usual_vmi,
		.pod = "'containers':[{'name':'compute','resources':{"
		       "'requests':{'cpu':'400m','memory':'4390Mi',"
		       "'ephemeral-storage':'50M','devices.kubevirt.io/kvm':"
		       "'1','devices.kubevirt.io/tun':'1',"
		       "'devices.kubevirt.io/vhost-net':'1'}}}]",
		.node = new_host,
		.cr = "{'spec':{'configuration':{'developerConfiguration':{"
		      "'useEmulation':true,'featureGates':['IOMMUFD']}}}}" });

	(void)state;
	assert_true(d.is_known);
	assert_false(d.next.pod.requests_kvm);
	assert_int_equal(scalar_of(&d.next.pod, LAUNCHER_KVM), 0);
	assert_int_equal(scalar_of(&d.next.pod, LAUNCHER_VHOST_NET), 0);
	assert_int_equal(scalar_of(&d.next.pod, LAUNCHER_IOMMUFD), 1);
	assert_int_equal(scalar_of(&d.next.pod, "devices.kubevirt.io/tun"), 1);
	assert_int_equal(d.next.pod.requests.scalar_count, 2);
	assert_int_equal(scalar_of(d.running, LAUNCHER_KVM), 1);
	release(&d);
}

static void huge_pages_follow_the_guest(void **state)
{
	struct derived d = derive(&(const struct given){
		.spec = "'domain':{'cpu':{'cores':4,'model':'host-model'},"
			"'memory':{'guest':'6Gi','hugepages':{'pageSize':"
			"'2Mi'}}}",
		.status = "'memory':{'guestCurrent':'4Gi'}",
		.pod = "'containers':[{'name':'compute','resources':{"
		       "'requests':{'cpu':'400m','memory':'300Mi',"
		       "'ephemeral-storage':'50M','hugepages-2Mi':'4Gi'}}}]",
		.node = new_host });

	(void)state;
	assert_true(d.is_known);
	assert_int_equal(scalar_of(&d.next.pod, "hugepages-2Mi"), 6 * GIB);
	assert_int_equal(d.next.pod.requests.memory_bytes, INT64_C(300) << 20);
	release(&d);
}

static void hotplugged_cpus_and_memory_are_added(void **state)
{
	(void)state;
	expect_amounts(
		&(const struct given){
			.spec = "'domain':{'cpu':{'cores':1,'sockets':6,"
				"'model':'host-model'},'memory':{'guest':"
				"'6Gi'}}",
			.status = "'currentCPUTopology':{'cores':1,"
				  "'sockets':4},'memory':{'guestCurrent':"
				  "'4Gi'}",
			.pod = COMPUTE("400m", "4400Mi"),
			.node = new_host },
		610, (INT64_C(6464) << 20) + GIB);
}

/* The status of the VMI follows a migration some time later. */
static void a_pod_that_has_what_is_asked_keeps_it(void **state)
{
	(void)state;
	expect_amounts(
		&(const struct given){
			.spec = "'domain':{'cpu':{'cores':6,"
				"'model':'host-model'},'memory':{'guest':"
				"'6Gi'}}",
			.status = "'currentCPUTopology':{'cores':4},"
				  "'memory':{'guestCurrent':'4Gi'}",
			.pod = COMPUTE("600m", "6464Mi"),
			.node = new_host },
		610, (INT64_C(6464) << 20) + GIB);
}

static void another_overcommit_changes_the_amounts(void **state)
{
	struct derived d = derive(&(const struct given){ .spec = usual_vmi,
		.pod = COMPUTE("400m", "4400Mi"),
		.node = new_host,
		.cr = "{'spec':{'configuration':{'developerConfiguration':{"
		      "'cpuAllocationRatio':4,'memoryOvercommit':200}}}}" });

	(void)state;
	assert_true(d.is_known);
	assert_int_equal(d.next.pod.requests.cpu_milli, 1010);
	assert_int_equal(d.next.pod.requests.memory_bytes,
		3 * GIB + (INT64_C(312) << 20));
	release(&d);
}

#define TWO_DISKS                                                              \
	"'architecture':'amd64','domain':{'cpu':{'cores':4},'memory':{"        \
	"'guest':'4Gi'},'firmware':{'kernelBoot':{'container':{'image':'k'}}}" \
	"},'volumes':[{'name':'os','containerDisk':{'image':'i'}}]"
#define DISK_POD(more)                                                         \
	"'containers':[{'name':'compute','resources':{'requests':{'cpu':"      \
	"'400m','memory':'4390Mi','ephemeral-storage':'50M'}}}" more "]"
#define DISK(name)                                                             \
	",{'name':'volume" name                                                \
	"','resources':{'requests':{'cpu':'1m',"                               \
	"'memory':'1M','ephemeral-storage':'50M'}}}"

static void expect_disks(const char *pod, const char *cr, int64_t milli,
	int64_t bytes, int64_t ephemeral_bytes)
{
	struct derived d = derive(&(const struct given){ .spec = TWO_DISKS,
		.pod = pod,
		.node = new_host,
		.cr = cr });

	assert_true(d.is_known);
	assert_int_equal(d.next.pod.requests.cpu_milli, milli);
	assert_int_equal(d.next.pod.requests.memory_bytes, bytes);
	assert_int_equal(d.next.pod.requests.ephemeral_bytes, ephemeral_bytes);
	release(&d);
}

static void container_disks_have_containers_or_not_by_the_cr(void **state)
{
	static const char none[] = DISK_POD("");
	static const char two[] = DISK_POD(DISK("os") DISK("kernel-boot"));
	static const char closed[] =
		"{'spec':{'configuration':{'developerConfiguration':{"
		"'disabledFeatureGates':['ImageVolume']}}}}";
	const int64_t bytes = INT64_C(4390) << 20;

	(void)state;
	expect_disks(none, NULL, 400, bytes, 50000000);
	expect_disks(none, closed, 402, bytes + 2000000, 150000000);
	expect_disks(two, closed, 402, bytes + 2000000, 150000000);
	expect_disks(two, NULL, 400, bytes, 50000000);
}

/* ---- claims ---- */

static void hotplugged_claims_are_the_vms(void **state)
{
	struct derived d = derive(&(const struct given){
		.spec = "'volumes':[{'name':'root','dataVolume':{'name':"
			"'root'}},{'name':'hot','persistentVolumeClaim':{"
			"'claimName':'more','hotpluggable':true}},"
			"{'name':'told','dataVolume':{'name':'told'}}],"
			"'domain':{'memory':{'guest':'4Gi'}}",
		.status = "'volumeStatus':[{'name':'root'},{'name':'told',"
			  "'hotplugVolume':{}}]",
		.pod = "'volumes':[{'name':'root','persistentVolumeClaim':{"
		       "'claimName':'root'}}]",
		.node = "{}" });
	const struct pod_volumes *volumes = &d.next.pod.volumes;

	(void)state;
	assert_true(d.is_known);
	assert_int_equal(volumes->claim_count, 3);
	assert_string_equal(volumes->claims[0].name, "root");
	assert_string_equal(volumes->claims[1].name, "more");
	assert_string_equal(volumes->claims[2].name, "told");
	assert_int_equal(d.running->volumes.claim_count, 1);
	release(&d);
}

/* ---- what cannot be known ---- */

static void a_version_that_cannot_be_read_gives_no_pod(void **state)
{
	(void)state;
	expect_unknown(&(const struct given){ .spec = usual_vmi,
			       .pod = "'nodeSelector':{}",
			       .node = new_host,
			       .cr = "{'status':{'observedKubeVirtVersion':"
				     "'devel'}}" },
		"KubeVirt's version cannot be read");
}

static void constraints_that_are_too_long_give_no_pod(void **state)
{
	scoped_buffer struct buffer spec = BUFFER_MAX(1 << 20);

	(void)state;
	buffer_text(&spec, "'nodeSelector':{");
	for (int i = 0; spec.len < LAUNCHER_VM_MAX; i++) {
		buffer_printf(&spec, "%s'key%d':'value'", i == 0 ? "" : ",", i);
	}
	buffer_text(&spec, "},'domain':{'memory':{'guest':'4Gi'}}");
	expect_unknown(&(const struct given){ .spec = spec.data,
			       .pod = "'nodeSelector':{}",
			       .node = new_host },
		"the constraints of its VirtualMachineInstance are too long");
}

static void a_vmi_without_memory_keeps_the_amounts(void **state)
{
	(void)state;
	expect_amounts(&(const struct given){ .spec = "'domain':{}",
			       .pod = COMPUTE("400m", "4500Mi"),
			       .node = "{}" },
		410, (INT64_C(4500) << 20) + GIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_first_migration_requires_the_model_of_the_host),
		cmocka_unit_test(
			later_migrations_keep_the_model_of_the_first_host),
		cmocka_unit_test(a_host_without_a_model_requires_no_features),
		cmocka_unit_test(a_required_feature_keeps_the_model_away),
		cmocka_unit_test(a_named_model_needs_no_host),
		cmocka_unit_test(kubevirt_1_7_does_not_require_the_vendor),
		cmocka_unit_test(
			a_start_requires_neither_model_nor_vendor_of_a_host),
		cmocka_unit_test(the_selector_is_that_of_the_vmi_now),
		cmocka_unit_test(the_cr_adds_selectors_below_those_of_the_vmi),
		cmocka_unit_test(the_machine_type_is_that_of_the_running_vm),
		cmocka_unit_test(features_of_the_vm_are_required_of_the_node),
		cmocka_unit_test(an_emulated_architecture_needs_another_label),
		cmocka_unit_test(
			affinity_and_the_rest_are_those_of_the_vmi_now),
		cmocka_unit_test(vms_that_ask_for_the_same_share_the_parts),
		cmocka_unit_test(amounts_are_copied_from_the_running_pod),
		cmocka_unit_test(hotplugged_cpus_and_memory_are_added),
		cmocka_unit_test(devices_follow_the_cr),
		cmocka_unit_test(huge_pages_follow_the_guest),
		cmocka_unit_test(a_pod_that_has_what_is_asked_keeps_it),
		cmocka_unit_test(another_overcommit_changes_the_amounts),
		cmocka_unit_test(
			container_disks_have_containers_or_not_by_the_cr),
		cmocka_unit_test(hotplugged_claims_are_the_vms),
		cmocka_unit_test(a_version_that_cannot_be_read_gives_no_pod),
		cmocka_unit_test(constraints_that_are_too_long_give_no_pod),
		cmocka_unit_test(a_vmi_without_memory_keeps_the_amounts),
	};
	int r;

	interner = interner_new();
	templates.interner = interner;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	launcher_templates_fini(&templates);
	interner_free(interner);
	return r;
}
