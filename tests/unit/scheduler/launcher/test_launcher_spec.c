/* Launcher pods that are derived from recorded VMs, compared with the pods that
 * KubeVirt's virt-controller made of the same VMs. */
#include "scheduler/launcher/launcher_spec.h"

#include "tests/unit/scheduler/given.h"

#include <errno.h>

static struct interner *interner;

static struct pod *derive(enum launcher_spec_kind kind,
	const struct json_value *object, const char *namespace)
{
	scoped_buffer struct buffer derivation = BUFFER_MAX(4096);
	struct pod *pod = NULL;
	struct error err;

	if (launcher_spec_pod(&pod, &derivation,
		    &(const struct launcher_spec){ .kind = kind,
			    .object = object,
			    .namespace = namespace,
			    .interner = interner,
			    .settings = &launcher_settings_default },
		    &err) < 0) {
		fail_msg("%s", err.text);
	}
	return pod;
}

static void expect_same_requests(const struct pod *pod,
	const struct pod *expected, const char *what)
{
	const struct resources *a = &pod->requests, *b = &expected->requests;

	given_check(a->cpu_milli == b->cpu_milli, what);
	given_check(a->memory_bytes == b->memory_bytes, what);
	given_check(a->ephemeral_bytes == b->ephemeral_bytes, what);
	given_check(a->scalar_count == b->scalar_count, what);
	for (size_t i = 0; i < a->scalar_count; i++) {
		given_check(a->scalars[i].resource == b->scalars[i].resource,
			what);
		given_check(a->scalars[i].value == b->scalars[i].value, what);
	}
	given_check(pod->vcpus == expected->vcpus, what);
	given_check(pod->is_dedicated == expected->is_dedicated, what);
	given_check(pod->requests_kvm == expected->requests_kvm, what);
}

/* The machine type and the architecture of the cluster are not in a VM's
 * manifest, and tolerations that the API server adds are for running pods. */
static void expect_same_constraints(const struct pod *pod,
	const struct pod *expected, const char *what)
{
	given_check(pod->is_vm, what);
	given_check(strcmp(pod->vm_name, expected->vm_name) == 0, what);
	given_check(strcmp(pod->namespace, expected->namespace) == 0, what);
	given_check(
		labels_include(&expected->node_selector, &pod->node_selector),
		what);
	given_check(pod->has_required == expected->has_required, what);
	given_check(pod->required.count == expected->required.count, what);
	for (size_t i = 0; i < pod->required.count; i++) {
		given_check(pod->required.list[i].all.count ==
				expected->required.list[i].all.count,
			what);
	}
	given_check(pod->preferred.count == expected->preferred.count, what);
	given_check(pod->spread.hard_count == expected->spread.hard_count,
		what);
	given_check(pod_affinity_has_terms(&pod->affinity) ==
			pod_affinity_has_terms(&expected->affinity),
		what);
	given_check(pod->tolerations.count <= expected->tolerations.count,
		what);
	/* The API server names the default one. */
	given_check(*pod->scheduler_name == '\0' ||
			strcmp(pod->scheduler_name, expected->scheduler_name) ==
				0,
		what);
}

static void compare(const struct json_value *record, const char *member,
	enum launcher_spec_kind kind)
{
	const char *what = json_value_text_at(record, "what", "");
	const struct json_value *manifest = json_value_get(record, member);
	struct pod *expected = NULL;
	struct pod *pod;

	if (manifest == NULL) {
		return;
	}
	assert_int_equal(
		pod_new(&expected, interner, json_value_get(record, "pod"),
			POD_UNSCHEDULED, NULL),
		0);
	pod = derive(kind, manifest, expected->namespace);
	expect_same_requests(pod, expected, what);
	expect_same_constraints(pod, expected, what);
	assert_null(pod->unsupported);
	pod_free(pod);
	pod_free(expected);
}

static void derives_the_pods_that_virt_controller_made(void **state)
{
	struct json_value *records = given_file(GIVEN_DIR "derived-pods.json");
	size_t count = 0;

	(void)state;
	for (const struct json_value *v = json_value_first(records); v != NULL;
		v = json_value_next(v)) {
		compare(v, "vmi", LAUNCHER_SPEC_VMI);
		compare(v, "vm", LAUNCHER_SPEC_VM);
		count++;
	}
	assert_int_equal(count, 10);
	json_value_free(records);
}

static void a_pod_is_taken_as_it_is(void **state)
{
	struct json_value *object = given_json(
		"{'kind':'Pod','metadata':{'name':'p','labels':{'app':'x'}},"
		"'spec':{'containers':[{'name':'c','resources':{'requests':{"
		"'cpu':'2','memory':'1Gi'}}}],'nodeSelector':{'a':'b'}}}");
	struct pod *pod = derive(LAUNCHER_SPEC_POD, object, "shop");

	(void)state;
	assert_string_equal(pod->namespace, "shop");
	assert_string_equal(pod->name, "p");
	assert_false(pod->is_vm);
	assert_int_equal(pod->requests.cpu_milli, 2000);
	assert_int_equal(pod->labels.count, 1);
	assert_int_equal(pod->node_selector.count, 1);
	pod_free(pod);
	json_value_free(object);
}

static void what_the_manifest_lacks_is_said(void **state)
{
	scoped_buffer struct buffer derivation = BUFFER_MAX(4096);
	struct json_value *object = given_json(
		"{'kind':'VirtualMachine','metadata':{'name':'web','namespace':"
		"'shop'},'spec':{'preference':{'name':'x'},"
		"'dataVolumeTemplates':[{'metadata':{'name':'new'}}],"
		"'template':{'spec':{'priorityClassName':'high','domain':{"
		"'cpu':{'cores':2,'model':'Haswell','features':[{'name':'aes'},"
		"{'name':'vmx','policy':'forbid'}]},'memory':{'guest':'2Gi'},"
		"'devices':{'gpus':[{'name':'g','deviceName':'nvidia.com/T4'},"
		"{'name':'h','deviceName':'nvidia.com/T4'}],"
		"'autoattachGraphicsDevice':false}},'volumes':[{'name':'a',"
		"'dataVolume':{'name':'new'}},{'name':'b','dataVolume':{'name':"
		"'old'}}]}}}}");
	struct pod *pod = NULL;

	(void)state;
	assert_int_equal(
		launcher_spec_pod(&pod, &derivation,
			&(const struct launcher_spec){ .kind = LAUNCHER_SPEC_VM,
				.object = object,
				.namespace = "shop",
				.interner = interner,
				.settings = &launcher_settings_default },
			NULL),
		0);
	assert_string_equal(derivation.data,
		"{\"from\":\"VirtualMachine\",\"rules\":\"virt-controller of "
		"KubeVirt 1.9\",\"cpuAllocationRatio\":10,"
		"\"memoryOvercommitPercent\":100,\"vcpus\":2,"
		"\"guestBytes\":2147483648,\"overheadBytes\":1350565888,"
		"\"cpuRequestedCores\":0.205,"
		"\"memoryRequestedBytes\":3533049536,\"notes\":["
		"\"the preference is not read\","
		"\"the priority class is not read: priority 0\","
		"\"claims of dataVolumeTemplates are left out\"]}");
	assert_int_equal(pod->volumes.claim_count, 1);
	/* no node with the feature that is forbidden */
	assert_int_equal(pod->required.count, 1);
	assert_int_equal(pod->required.list[0].all.count, 1);
	/* schedulable, the CPU model and the feature that is required */
	assert_int_equal(pod->node_selector.count, 3);
	/* kvm, tun, vhost-net and the GPU */
	assert_int_equal(pod->requests.scalar_count, 4);
	pod_free(pod);
	json_value_free(object);
}

static void expect_refused(enum launcher_spec_kind kind, const char *json,
	const char *why)
{
	scoped_buffer struct buffer derivation = BUFFER_MAX(4096);
	struct json_value *object = given_json(json);
	struct pod *pod = NULL;
	struct error err;

	assert_int_equal(
		launcher_spec_pod(&pod, &derivation,
			&(const struct launcher_spec){ .kind = kind,
				.object = object,
				.namespace = "shop",
				.interner = interner,
				.settings = &launcher_settings_default },
			&err),
		-EINVAL);
	given_check(strstr(err.text, why) != NULL, err.text);
	json_value_free(object);
}

static void refuses_a_manifest_that_says_too_little(void **state)
{
	(void)state;
	expect_refused(LAUNCHER_SPEC_VM,
		"{'kind':'VirtualMachine','metadata':{'namespace':'other'}}",
		"the manifest is of namespace other, and the question of shop");
	expect_refused(LAUNCHER_SPEC_VM, "{'kind':'VirtualMachine'}",
		"the manifest has no spec.template.spec");
	expect_refused(LAUNCHER_SPEC_VM,
		"{'kind':'VirtualMachine','spec':{'instancetype':{'name':'a'},"
		"'template':{'spec':{}}}}",
		"the VM names an instancetype");
	expect_refused(LAUNCHER_SPEC_VMI, "{'spec':{'domain':{}}}",
		"the VM has no memory");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'99999Ti'}}}}",
		"domain/memory/guest is not 1 byte to 16384 GiB");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi',"
		"'reservedOverhead':{'addedOverhead':'-1'}}}}}",
		"addedOverhead is no amount of memory");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi',"
		"'reservedOverhead':{'addedOverhead':'17Ti'}}}}}",
		"addedOverhead is no amount of memory");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi'},'cpu':{'cores':64,"
		"'sockets':64}}}}",
		"the VM has more than 512 vCPUs");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi'},'cpu':{'cores':"
		"0.5}}}}",
		"domain/cpu/cores is not 1 to 512");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi','hugepages':{"
		"'pageSize':'4Ki'}}}}}",
		"pageSize is neither 2Mi nor 1Gi");
	expect_refused(LAUNCHER_SPEC_VMI,
		"{'spec':{'domain':{'memory':{'guest':'1Gi'}},'tolerations':"
		"[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}}",
		"nested too deeply");
}

static int setup(void **state)
{
	(void)state;
	interner = interner_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	interner_free(interner);
	return 0;
}

/* The pod of a VMI with 4 GiB and these members of its spec and its domain. */
static struct pod *derive_vmi(const char *spec, const char *domain)
{
	scoped_free char *text = xasprintf(
		"{'kind':'VirtualMachineInstance','metadata':{'name':'v'},"
		"'spec':{%s'domain':{'memory':{'guest':'4Gi'%s}}}",
		spec, domain);
	struct json_value *object = given_json(text);
	struct pod *pod = derive(LAUNCHER_SPEC_VMI, object, "shop");

	json_value_free(object);
	return pod;
}

/* The amounts of pkg/hypervisor/kvm/hypervisorbackend.go of KubeVirt 1.9. */
static void what_a_vm_has_beside_its_guest_needs_memory(void **state)
{
	static const struct {
		const char *spec, *domain;
		int64_t mib;
	} cases[] = {
		{ "'livenessProbe':{'exec':{}},", "}", 110 },
		{ "'livenessProbe':{'exec':{}},'readinessProbe':{'exec':{}},",
			"}", 120 },
		{ "'readinessProbe':{'httpGet':{}},", "}", 0 },
		{ "", "},'devices':{'tpm':{}}", 53 },
		{ "", "},'devices':{'tpm':{'enabled':null}}", 53 },
		{ "", "},'devices':{'tpm':{'enabled':true}}", 53 },
		{ "", "},'devices':{'tpm':{'enabled':false}}", 0 },
		{ "", "},'launchSecurity':{'sev':{}}", 256 },
		{ "", "},'launchSecurity':{'snp':{}}", 256 },
		{ "", "},'launchSecurity':{'tdx':{}}", 0 },
		{ "", "},'devices':{'hostDevices':[{'deviceName':'x'}]}",
			1024 },
		{ "'volumes':[{'name':'d','downwardMetrics':{}}],", "}", 1 },
		{ "'volumes':[{'name':'d','emptyDisk':{}}],", "}", 0 },
		{ "", ",'reservedOverhead':{'addedOverhead':'7Mi'}}", 7 },
	};
	struct pod *plain = derive_vmi("", "}");

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct pod *pod = derive_vmi(cases[i].spec, cases[i].domain);

		assert_int_equal(pod->requests.memory_bytes -
				plain->requests.memory_bytes,
			cases[i].mib << 20);
		pod_free(pod);
	}
	pod_free(plain);
}

static int64_t scalar_of(const struct pod *pod, const char *name)
{
	uint32_t id = interner_find(interner, name);

	for (size_t i = 0; i < pod->requests.scalar_count; i++) {
		if (pod->requests.scalars[i].resource == id) {
			return pod->requests.scalars[i].value;
		}
	}
	return 0;
}

static void encrypted_vms_need_nodes_and_devices_that_encrypt(void **state)
{
	static const struct {
		const char *domain, *labels, *device;
		size_t label_count;
	} cases[] = {
		{ "'launchSecurity':{'sev':{}}", "{'kubevirt.io/sev':'true'}",
			"devices.kubevirt.io/sev", 1 },
		{ "'launchSecurity':{'sev':{'policy':{'encryptedState':true}}}",
			"{'kubevirt.io/sev':'true',"
			"'kubevirt.io/sev-es':'true'}",
			"devices.kubevirt.io/sev", 2 },
		{ "'launchSecurity':{'snp':{}}",
			"{'kubevirt.io/sev':'true',"
			"'kubevirt.io/sev-snp':'true'}",
			"devices.kubevirt.io/sev", 2 },
		{ "'launchSecurity':{'tdx':{}}", "{'kubevirt.io/tdx':'true'}",
			"devices.kubevirt.io/tdx", 1 },
		{ "'devices':{'autoattachVSOCK':true}", "{}",
			"devices.kubevirt.io/vhost-vsock", 0 },
	};
	struct pod *plain = derive_vmi("", "}");

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *domain = xasprintf("},%s", cases[i].domain);
		struct pod *pod = derive_vmi("", domain);
		struct json_value *object = given_json(cases[i].labels);
		struct labels wanted;

		assert_int_equal(labels_read(&wanted, interner, object, NULL),
			0);
		assert_true(labels_include(&pod->node_selector, &wanted));
		assert_int_equal(pod->node_selector.count,
			plain->node_selector.count + cases[i].label_count);
		assert_int_equal(scalar_of(pod, cases[i].device), 1);
		assert_int_equal(pod->requests.scalar_count,
			plain->requests.scalar_count + 1);
		labels_fini(&wanted, interner);
		json_value_free(object);
		pod_free(pod);
	}
	pod_free(plain);
}

static void devices_of_one_resource_are_counted(void **state)
{
	struct pod *pod = derive_vmi("",
		"},'devices':{'gpus':[{'deviceName':'x.io/"
		"a'},{'deviceName':'x.io/b'},"
		"{'name':'c'},{'deviceName':'x.io/a'}],"
		"'hostDevices':[{'deviceName':'x.io/b'},{'deviceName':'x.io/"
		"a'}]}");

	(void)state;
	assert_int_equal(scalar_of(pod, "x.io/a"), 3);
	assert_int_equal(scalar_of(pod, "x.io/b"), 2);
	pod_free(pod);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derives_the_pods_that_virt_controller_made),
		cmocka_unit_test(a_pod_is_taken_as_it_is),
		cmocka_unit_test(what_the_manifest_lacks_is_said),
		cmocka_unit_test(refuses_a_manifest_that_says_too_little),
		cmocka_unit_test(what_a_vm_has_beside_its_guest_needs_memory),
		cmocka_unit_test(
			encrypted_vms_need_nodes_and_devices_that_encrypt),
		cmocka_unit_test(devices_of_one_resource_are_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
