#include "scheduler/filter/filter.h"

#include <math.h>

#include "kube/time.h"
#include "tests/unit/scheduler/given.h"

static const int64_t now = 1000 * INT64_C(1000000);

/* The reasons as one string: "a; b". */
static void assert_rejected(const struct pod *pod, const struct node *node,
	const char *expected)
{
	const struct filter_options options = FILTER_DEFAULTS;
	const struct cluster none = { 0 };
	struct prefilter prefilter = { 0 };
	uint64_t reasons;
	scoped_buffer struct buffer all = BUFFER_MAX(4096);

	prefilter_run(&prefilter, pod, &none);
	reasons = filter_node(&prefilter, node, &options, now);
	buffer_text(&all, "");
	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		char text[FILTER_REASON_TEXT_MAX];

		if ((reasons >> i & 1) != 0) {
			buffer_printf(&all, "%s%s", all.len > 0 ? "; " : "",
				filter_reason_text(text, sizeof(text),
					&prefilter, i));
		}
	}
	assert_string_equal(all.data, expected);
	prefilter_fini(&prefilter);
}

#define ROOM "'status':{'allocatable':{'cpu':'4','memory':'8Gi','pods':'110'}}"
#define BAD_TAINT "'taints':[{'key':'t','effect':'NoSchedule'}]"
static const struct {
	const char *spec, *node, *expected;
} rejections[] = {
	{ "{}", "{'metadata':{'name':'n'}," ROOM "}", "" },
	{ "{}",
		"{'metadata':{'name':'n'},'spec':{'unschedulable':"
		"true," BAD_TAINT "}," ROOM "}",
		"node(s) were unschedulable" },
	{ "{'tolerations':[{'operator':'Exists'}]}",
		"{'metadata':{'name':'n'},'spec':{'unschedulable':true}"
		"," ROOM "}",
		"" },
	{ "{'nodeName':'m'}", "{'metadata':{'name':'n'}," ROOM "}",
		"node(s) didn't satisfy plugin(s) [NodeName]" },
	{ "{'nodeName':'n'}", "{'metadata':{'name':'n'}," ROOM "}", "" },
	{ "{'nodeSelector':{'a':'b'}}",
		"{'metadata':{'name':'n'},'spec':{" BAD_TAINT "}," ROOM "}",
		"node(s) had untolerated taint(s)" },
	{ "{'nodeSelector':{'a':'b'}}",
		"{'metadata':{'name':'n','labels':{'a':'c'}}}",
		"node(s) didn't match Pod's node affinity/selector" },
	{ "{'nodeSelector':{'a':'b'}}",
		"{'metadata':{'name':'n','labels':{'a':'b'}}," ROOM "}", "" },
	{ "{'affinity':{'nodeAffinity':{'requiredDuringScheduling"
	  "IgnoredDuringExecution':{'nodeSelectorTerms':[]}}}}",
		"{'metadata':{'name':'n'}," ROOM "}",
		"node(s) didn't match Pod's node affinity/selector" },
	{ "{'affinity':{'nodeAffinity':{'requiredDuringScheduling"
	  "IgnoredDuringExecution':{'nodeSelectorTerms':[{"
	  "'matchExpressions':[{'key':'obsolete','operator':"
	  "'DoesNotExist'}]}]}}}}",
		"{'metadata':{'name':'n'}," ROOM "}", "" },
	{ "{'containers':[{'resources':{'requests':{'cpu':'4001m',"
	  "'memory':'9Gi','ephemeral-storage':'1','a.b/c':'1',"
	  "'hugepages-1Gi':'1Gi'}}}]}",
		"{'metadata':{'name':'n'}," ROOM "}",
		"Insufficient cpu; Insufficient memory; Insufficient "
		"ephemeral-storage; Insufficient a.b/c; Insufficient "
		"hugepages-1Gi" },
	{ "{'containers':[{'resources':{'requests':{'cpu':'4',"
	  "'memory':'8Gi','a.b/c':'0'}}}]}",
		"{'metadata':{'name':'n'}," ROOM "}", "" },
	{ "{'schedulingGroup':{'a':'b'}}", "{'metadata':{'name':'n'}," ROOM "}",
		"pod has a scheduling group, which plimsoll-scheduler does "
		"not support" },
	{ "{'nodeName':'m',"
	  "'affinity':{'nodeAffinity':{'requiredDuringScheduling"
	  "IgnoredDuringExecution':{'nodeSelectorTerms':[{'matchFields':[{"
	  "'key':'metadata.name','operator':'In','values':['o']}]}]}}}}",
		"{'metadata':{'name':'n'}," ROOM "}",
		"node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] "
		"simultaneously" },
	{ "{'affinity':{'nodeAffinity':{'requiredDuringScheduling"
	  "IgnoredDuringExecution':{'nodeSelectorTerms':[{'matchFields':[{"
	  "'key':'metadata.name','operator':'In','values':['n']}]}]}}}}",
		"{'metadata':{'name':'n'}," ROOM "}", "" },
	{ "{'affinity':{'nodeAffinity':{'requiredDuringScheduling"
	  "IgnoredDuringExecution':{'nodeSelectorTerms':[{'matchFields':[{"
	  "'key':'metadata.name','operator':'In','values':['n']},{"
	  "'key':'metadata.name','operator':'In','values':['m']}]}]}}}}",
		"{'metadata':{'name':'n'}," ROOM "}",
		"pod affinity terms conflict" },
};

static void rejects_in_upstream_order_and_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(rejections); i++) {
		struct interner *interner = interner_new();
		struct node *node = given_node(interner, rejections[i].node);
		struct pod *pod = given_spec(interner, rejections[i].spec);

		assert_rejected(pod, node, rejections[i].expected);
		pod_free(pod);
		node_free(node);
		interner_free(interner);
	}
}

/* With the sidecar the pod requests 4015m, so 4000m are not enough. */
static void dedicated_4_does_not_fit_into_4000m(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *nodes = given_file(GIVEN_DIR "nodes.json");
	struct pod *pod = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-dedicated.json"));
	struct pod *other = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'11785m'}}}]}");
	struct pod *more = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'15m'}}}]}");
	struct node *node = NULL;

	(void)state;
	assert_int_equal(
		node_new(&node, interner, json_value_first(nodes), NULL), 0);
	node_add_pod(node, other, TIME_LONG_AGO);
	assert_rejected(pod, node, "");
	node_add_pod(node, more, TIME_LONG_AGO);
	assert_int_equal(node->cpu_milli - node->cpu_milli_requested, 4000);
	assert_rejected(pod, node, "Insufficient cpu");
	node_free(node);
	pod_free(pod);
	pod_free(other);
	pod_free(more);
	json_value_free(nodes);
	interner_free(interner);
}

static void rejects_more_pods_than_allocatable(void **state)
{
	struct interner *interner = interner_new();
	struct node *node = given_node(interner,
		"{'metadata':{'name':'n'},'status':{'allocatable':{"
		"'pods':'1'}}}");
	struct pod *pod = given_spec(interner, "{}");
	struct pod *big = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}");

	(void)state;
	assert_rejected(pod, node, "");
	node_add_pod(node, pod, TIME_LONG_AGO);
	assert_rejected(pod, node, "Too many pods");
	assert_rejected(big, node, "Too many pods; Insufficient cpu");
	pod_free(pod);
	pod_free(big);
	node_free(node);
	interner_free(interner);
}

static void rejects_broken_kvm_only_if_fresh_and_requested(void **state)
{
	static const struct {
		enum kvm_state state;
		int64_t age_s;
		const char *expected;
	} cases[] = {
		{ KVM_OK, 0, "" },
		{ KVM_UNVERIFIED, 0, "" },
		{ KVM_MISSING, 15, "node(s) cannot start VMs: KVM missing" },
		{ KVM_API_MISMATCH, 0,
			"node(s) cannot start VMs: KVM api_mismatch" },
		{ KVM_CREATE_FAILED, 0,
			"node(s) cannot start VMs: KVM create_failed" },
		{ KVM_RUN_FAILED, 0,
			"node(s) cannot start VMs: KVM run_failed" },
		{ KVM_RUN_FAILED, 16, "" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct interner *interner = interner_new();
		struct node *node = given_plain_node(interner, "n");
		struct pod *vm = given_vm(interner, "vm", 1);
		struct pod *pod = given_spec(interner, "{}");
		struct node_load load = given_load(0, 0);

		load.kvm_state = cases[i].state;
		node_set_load(node, &load, now - cases[i].age_s * 1000000, now);
		assert_rejected(vm, node, cases[i].expected);
		assert_rejected(pod, node, "");
		node_free(node);
		pod_free(vm);
		pod_free(pod);
		interner_free(interner);
	}
}

static void rejects_too_little_available_memory(void **state)
{
	const struct filter_options off = { .has_memory_limit = false };
	struct interner *interner = interner_new();
	struct node *node = given_plain_node(interner, "n");
	struct pod *vm = given_vm(interner, "vm", 1);
	struct node_load load = given_load(0, 60.5 * (1 << 30));
	const struct cluster none = { 0 };
	struct prefilter prefilter = { 0 };

	(void)state;
	node_set_load(node, &load, now, now);
	assert_rejected(vm, node,
		"node(s) had less memory available than requested");
	prefilter_run(&prefilter, vm, &none);
	assert_true(filter_node(&prefilter, node, &off, now) == 0);
	prefilter_fini(&prefilter);
	node_set_load(node, &load, now - 16000000, now);
	assert_rejected(vm, node, "");
	load.memory_available_bytes = 4.0 * (1 << 30);
	node_set_load(node, &load, now, now);
	assert_rejected(vm, node, "");
	load.memory_available_bytes = NAN;
	node_set_load(node, &load, now, now);
	assert_rejected(vm, node, "");
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

/* The VM's memory is huge pages; 296Mi and the sidecar's 35M are not. */
static void does_not_count_huge_pages_as_memory(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *nodes = given_file(GIVEN_DIR "nodes.json");
	struct pod *pod = given_pod_of(interner,
		given_file(GIVEN_DIR "pod-hugepages.json"));
	struct node_load load = given_load(0, 63.5 * (1 << 30));
	struct node *node = NULL;

	(void)state;
	assert_int_equal(
		node_new(&node, interner, json_value_first(nodes), NULL), 0);
	node_set_load(node, &load, now, now);
	assert_rejected(pod, node, "");
	node_free(node);
	pod_free(pod);
	json_value_free(nodes);
	interner_free(interner);
}

/* A node with 20 free pages of 1 GiB for Kubernetes, of which others hold some.
 * The VM wants 16. */
static void rejects_pages_that_others_hold(void **state)
{
	static const struct {
		uint64_t free, reserved;
		int64_t age_s;
		bool has_limit;
		const char *expected;
	} cases[] = {
		{ 20, 0, 0, true, "" },
		{ 16, 0, 0, true, "" },
		{ 15, 0, 0, true,
			"node(s) had fewer huge pages free than requested" },
		{ 20, 5, 0, true,
			"node(s) had fewer huge pages free than requested" },
		{ 16, REPORT_UNKNOWN, 0, true, "" },
		{ REPORT_UNKNOWN, 0, 0, true, "" },
		{ 0, 0, 16, true, "" },
		{ 0, 0, 0, false, "" },
	};
	struct interner *interner = interner_new();
	struct node *node = given_node(interner,
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'16',"
		"'memory':'64Gi','pods':'110','hugepages-1Gi':'20Gi'}}}");
	struct pod *vm = given_spec(interner,
		"{'containers':[{'resources':{'requests':{'memory':'1Gi',"
		"'hugepages-1Gi':'16Gi'}}}]}");

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct filter_options options = {
			.has_hugepages_limit = cases[i].has_limit
		};
		struct prefilter prefilter = { .pod = vm };
		struct node_load load = given_load(0, 0);
		char text[FILTER_REASON_TEXT_MAX] = "";
		uint64_t reasons;

		load.hugepages_count = 1;
		load.hugepages[0] = (struct hugepages){ 1 << 30, 20,
			cases[i].free, cases[i].reserved };
		node_set_load(node, &load, now - cases[i].age_s * 1000000, now);
		reasons = filter_by_metrics(vm, node, &options, now);
		if (reasons != 0) {
			(void)filter_reason_text(text, sizeof(text), &prefilter,
				(unsigned int)__builtin_ctzll(reasons));
		}
		assert_string_equal(text, cases[i].expected);
	}
	node_free(node);
	pod_free(vm);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rejects_in_upstream_order_and_words),
		cmocka_unit_test(dedicated_4_does_not_fit_into_4000m),
		cmocka_unit_test(rejects_more_pods_than_allocatable),
		cmocka_unit_test(
			rejects_broken_kvm_only_if_fresh_and_requested),
		cmocka_unit_test(rejects_too_little_available_memory),
		cmocka_unit_test(does_not_count_huge_pages_as_memory),
		cmocka_unit_test(rejects_pages_that_others_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
