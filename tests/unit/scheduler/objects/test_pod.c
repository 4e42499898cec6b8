#include "scheduler/objects/pod.h"

#include <errno.h>
#include <math.h>

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

/* A pod of KubeVirt's virt-controller with 2 vCPUs and 4 GiB. */
static void reads_a_launcher_pod(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod =
		given_pod_of(interner, given_file(GIVEN_DIR "pod-plain.json"));

	(void)state;
	assert_string_equal(pod->namespace, "vms");
	assert_string_equal(pod->name, "virt-launcher-vm-plain-5bps8");
	assert_string_equal(pod->uid, "da6dfc66-38e9-425a-bbbd-bbbe5802c81c");
	assert_string_equal(pod->resource_version, "530");
	assert_string_equal(pod->scheduler_name, "plimsoll-scheduler");
	assert_string_equal(pod->node_name, "");
	assert_string_equal(pod->vmi_uid,
		"dcfabb32-1f19-4e33-a870-861b5aefedad");
	assert_string_equal(pod->vm_name, "vm-plain");
	assert_int_equal(pod->generation, 1);
	assert_int_equal(pod->phase, POD_PENDING);
	assert_true(pod->is_vm);
	assert_true(pod->requests_kvm);
	assert_false(pod->is_gated);
	assert_false(pod->is_deleting);
	assert_false(pod_is_terminated(pod));
	assert_null(pod->unsupported);
	assert_true(pod->has_required);
	assert_int_equal(pod->required.count, 1);
	assert_int_equal(pod->node_selector.count, 3);
	assert_int_equal(pod->tolerations.count, 2);
	assert_true(pod->bound_wall_us == TIME_LONG_AGO);
	pod_free(pod);
	interner_free(interner);
}

static struct pod *announcing(struct interner *interner, const char *label,
	const char *text)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p','labels':{'kubevirt.io':'%s'},"
		"'annotations':{'plimsoll.io/expected-cores':'%s'}},"
		"'spec':{}}",
		label, text);

	return given_pod(interner, json);
}

static void an_announcement_is_read_or_the_reason_is_kept(void **state)
{
	struct interner *interner = interner_new();
	struct pod *good =
		announcing(interner, "virt-launcher", "6 from 18:00 to 23:00");
	struct pod *bad = announcing(interner, "virt-launcher", "many");
	struct pod *other = announcing(interner, "no", "6");

	(void)state;
	assert_int_equal(good->announced->count, 1);
	assert_null(good->announcement_error);
	assert_null(bad->announced);
	assert_string_equal(bad->announcement_error,
		"annotation plimsoll.io/expected-cores is ignored: a number of "
		"cores above 0 is expected at 'many'");
	assert_null(bad->unsupported);
	assert_null(other->announced);
	assert_null(other->announcement_error);
	pod_free(good);
	pod_free(bad);
	pod_free(other);
	interner_free(interner);
}

/* compute has 200m and 4392Mi, the sidecar 5m and 35M. */
static void adds_the_sidecar_of_a_launcher_pod(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod =
		given_pod_of(interner, given_file(GIVEN_DIR "pod-plain.json"));

	(void)state;
	assert_int_equal(pod->requests.cpu_milli, 205);
	assert_true(
		pod->requests.memory_bytes == (INT64_C(4392) << 20) + 35000000);
	assert_int_equal(pod->requests.ephemeral_bytes, 50000000);
	assert_int_equal(pod->requests.scalar_count, 3);
	assert_true(fabs(pod->vcpus - 2) < 1e-9);
	assert_true(fabs(pod->expected_cores - 0.5) < 1e-9);
	pod_free(pod);
	interner_free(interner);
}

static void adds_the_sidecar_to_dedicated_cpus(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-dedicated.json"));

	(void)state;
	assert_int_equal(pod->requests.cpu_milli, 4015);
	assert_true(fabs(pod->vcpus - 4) < 1e-9);
	pod_free(pod);
	interner_free(interner);
}

static const struct {
	const char *spec, *what;
} constraints[] = {
	{ "{}", NULL },
	{ "{'resourceClaims':[{'name':'gpu'}]}", "resource claims" },
	{ "{'schedulingGroup':{'podGroupName':'g'}}", "scheduling group" },
	{ "{'volumes':[{'name':'a','emptyDir':{}},{'name':'b',"
	  "'configMap':{}},{'name':'c','secret':{}},{'name':'d',"
	  "'downwardAPI':{}},{'name':'e','projected':{}},{'name':'f',"
	  "'hostPath':{}},{'name':'g','image':{}}]}",
		NULL },
	{ "{'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':"
	  "'c'}},{'name':'b','ephemeral':{}},{'name':'c','nfs':{}}]}",
		NULL },
	{ "{'volumes':[{'name':'a','emptyDir':{}},{'name':'b',"
	  "'gcePersistentDisk':{}}]}",
		"volume of type gcePersistentDisk" },
	{ "{'volumes':[{'name':'a','newThing':{}}]}",
		"volume of type newThing" },
};

static bool is_about(const char *sentence, const char *what)
{
	return sentence != NULL && strstr(sentence, what) != NULL;
}

static void reports_unsupported_constraints(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(constraints); i++) {
		struct interner *interner = interner_new();
		struct pod *pod = given_spec(interner, constraints[i].spec);
		const char *why = pod->unsupported;

		given_check(constraints[i].what == NULL
				? why == NULL
				: is_about(why, constraints[i].what),
			constraints[i].spec);
		pod_free(pod);
		interner_free(interner);
	}
}

static void reads_labels_affinity_ports_and_volumes(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-constraints.json"));

	(void)state;
	assert_null(pod->unsupported);
	assert_int_equal(pod->priority, 1000000000);
	assert_int_equal(pod->preferred.count, 1);
	assert_int_equal(pod->affinity.required_anti.count, 1);
	pod_free(pod);
	interner_free(interner);
}

static void reads_the_time_of_binding(void **state)
{
	static const struct {
		const char *pod;
		int64_t bound_s;
	} cases[] = {
		{ "{'metadata':{'name':'p'},'status':{"
		  "'startTime':'1970-01-01T00:00:09Z','conditions':["
		  "{'type':'Ready','status':'True',"
		  "'lastTransitionTime':'1970-01-01T00:00:08Z'},"
		  "{'type':'PodScheduled','status':'True',"
		  "'lastTransitionTime':'1970-01-01T00:00:07Z'}]}}",
			7 },
		{ "{'metadata':{'name':'p'},'status':{"
		  "'startTime':'1970-01-01T00:00:09Z','conditions':["
		  "{'type':'PodScheduled','status':'False',"
		  "'lastTransitionTime':'1970-01-01T00:00:07Z'}]}}",
			9 },
		{ "{'metadata':{'name':'p',"
		  "'creationTimestamp':'1970-01-01T00:00:05Z'},"
		  "'spec':{'nodeName':'n'}}",
			5 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct interner *interner = interner_new();
		struct pod *pod = given_pod(interner, cases[i].pod);

		assert_true(pod->bound_wall_us == cases[i].bound_s * 1000000);
		pod_free(pod);
		interner_free(interner);
	}
}

static void reads_phase_deletion_and_gates(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = given_pod(interner,
		"{'metadata':{'name':'p','deletionTimestamp':"
		"'2026-01-01T00:00:00Z'},'spec':{'schedulingGates':"
		"[{'name':'g'}],'containers':[{'resources':{'requests':"
		"{'cpu':'1500m'}}}]},'status':{'phase':'Succeeded'}}");

	(void)state;
	assert_true(pod->is_deleting);
	assert_true(pod->is_gated);
	assert_true(pod_is_terminated(pod));
	assert_false(pod->is_vm);
	/* A pod that is not a VM is expected to use its requests. */
	assert_true(fabs(pod->expected_cores - 1.5) < 1e-9);
	pod_free(pod);
	interner_free(interner);
}

/* A pod with this part of a spec and one CPU, on a node. */
static struct pod *placed_pod(struct interner *interner, const char *part)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'p','namespace':'ns'},'spec':{'nodeName':"
		"'n','volumes':[{'persistentVolumeClaim':{'claimName':'c'}}],"
		"'containers':[{'ports':[{'hostPort':80}],'resources':{"
		"'requests':{'cpu':'1'}}}],%s}}",
		part);
	struct json_value *value = given_json(text);
	struct pod *pod = NULL;

	assert_int_equal(pod_new(&pod, interner, value, POD_SCHEDULED, NULL),
		0);
	json_value_free(value);
	return pod;
}

static void assert_counted(const struct pod *pod)
{
	assert_int_equal(pod->requests.cpu_milli, 1000);
	assert_int_equal(pod->ports.count, 1);
	assert_int_equal(pod->volumes.claim_count, 1);
}

/* count times the same member of a list. The caller frees it. */
static char *repeated(const char *before, const char *member, int count,
	const char *after)
{
	struct buffer text = BUFFER_MAX(4 << 20);

	buffer_text(&text, before);
	for (int i = 0; i < count; i++) {
		buffer_printf(&text, "%s%s", i > 0 ? "," : "", member);
	}
	buffer_text(&text, after);
	assert_false(text.overflowed);
	return text.data;
}

#define PREFERENCE                                                             \
	"{'weight':1,'podAffinityTerm':{'topologyKey':'k','labelSelector':{}}" \
	"}"
#define PREFERRED "'preferredDuringSchedulingIgnoredDuringExecution':["

static void a_placed_pod_counts_however_much_it_has(void **state)
{
	struct interner *interner = interner_new();
	scoped_free char *many =
		repeated("'affinity':{'podAntiAffinity':{" PREFERRED,
			PREFERENCE, 20000, "]}}");
	struct pod *pod = placed_pod(interner, many);

	(void)state;
	assert_null(pod->unsupported);
	assert_int_equal(pod->affinity.preferred_anti.count, 20000);
	assert_counted(pod);
	pod_free(pod);
	interner_free(interner);
}

static void a_placed_pod_counts_with_what_can_be_read(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = placed_pod(interner,
		"'affinity':{'podAffinity':{" PREFERRED
		"]}},'initContainers':"
		"[{'resources':{'requests':{'cpu':'x'}}}]");

	(void)state;
	assert_string_equal(pod->unsupported,
		"pod cannot be read: resource 'cpu': 'x' is not a quantity "
		"such as 200m or 4Gi");
	assert_counted(pod);
	pod_free(pod);
	pod = placed_pod(interner,
		"'affinity':{'podAffinity':{'required"
		"DuringSchedulingIgnoredDuringExecution':7}}");
	assert_non_null(pod->unsupported);
	assert_counted(pod);
	pod_free(pod);
	interner_free(interner);
}

static void refuses_to_place_a_pod_that_cannot_be_read(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = given_spec(interner, "{'tolerations':7}");

	(void)state;
	assert_string_equal(pod->unsupported,
		"pod cannot be read: tolerations are not a list");
	pod_free(pod);
	interner_free(interner);
}

/* Lengths at which a pod is placed, and at which it is refused. */
static const struct {
	const char *before, *member, *after;
	int allowed, refused;
	const char *why;
} long_pods[] = {
	{ "{'affinity':{'podAffinity':{" PREFERRED, PREFERENCE, "]}}}", 257,
		3300, "more than 16384 values in affinity" },
	{ "{'topologySpreadConstraints':[",
		"{'topologyKey':'k','maxSkew':1,'labelSelector':{}}", "]}", 300,
		4100, "more than 16384 values in affinity" },
	{ "{'volumes':[", "{'emptyDir':{}}", "]}", 4096, 4097,
		"more than 4096 volumes" },
};

static void refuses_to_place_a_pod_that_is_too_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(long_pods); i++) {
		struct interner *interner = interner_new();
		scoped_free char *allowed =
			repeated(long_pods[i].before, long_pods[i].member,
				long_pods[i].allowed, long_pods[i].after);
		scoped_free char *refused =
			repeated(long_pods[i].before, long_pods[i].member,
				long_pods[i].refused, long_pods[i].after);
		struct pod *pod = given_spec(interner, allowed);

		assert_null(pod->unsupported);
		pod_free(pod);
		pod = given_spec(interner, refused);
		given_check(is_about(pod->unsupported, long_pods[i].why),
			long_pods[i].why);
		pod_free(pod);
		interner_free(interner);
	}
}

static void refuses_to_place_a_pod_with_33_kinds_of_devices(void **state)
{
	struct interner *interner = interner_new();
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 16);
	struct pod *pod;

	(void)state;
	buffer_text(&text,
		"{'containers':[{'resources':{'requests':{'cpu':'1'");
	for (int i = 0; i <= RESOURCES_POD_MAX; i++) {
		buffer_printf(&text, ",'x.y/%d':'1'", i);
	}
	buffer_text(&text, "}}}]}");
	pod = given_spec(interner, text.data);
	assert_string_equal(pod->unsupported,
		"pod has more than 28 kinds of extended resources and huge "
		"pages, which plimsoll-scheduler does not support");
	pod_free(pod);
	interner_free(interner);
}

static void names_no_pod_without_a_name(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *nameless = given_json("{}");
	struct pod *pod = NULL;
	struct error err;

	(void)state;
	assert_int_equal(pod_new(&pod, interner, nameless, POD_SCHEDULED, &err),
		-EBADMSG);
	assert_null(pod);
	json_value_free(nameless);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_launcher_pod),
		cmocka_unit_test(an_announcement_is_read_or_the_reason_is_kept),
		cmocka_unit_test(adds_the_sidecar_of_a_launcher_pod),
		cmocka_unit_test(adds_the_sidecar_to_dedicated_cpus),
		cmocka_unit_test(reports_unsupported_constraints),
		cmocka_unit_test(reads_labels_affinity_ports_and_volumes),
		cmocka_unit_test(reads_the_time_of_binding),
		cmocka_unit_test(reads_phase_deletion_and_gates),
		cmocka_unit_test(a_placed_pod_counts_however_much_it_has),
		cmocka_unit_test(a_placed_pod_counts_with_what_can_be_read),
		cmocka_unit_test(refuses_to_place_a_pod_that_cannot_be_read),
		cmocka_unit_test(refuses_to_place_a_pod_that_is_too_long),
		cmocka_unit_test(
			refuses_to_place_a_pod_with_33_kinds_of_devices),
		cmocka_unit_test(names_no_pod_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
