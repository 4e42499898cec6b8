#include "scheduler/plan/classes.h"

#include "tests/unit/scheduler/given.h"

/* A pod with this metadata and spec, beside its one container. */
static struct pod *pod_with(struct interner *interner, const char *requests,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p','namespace':'ns','uid':'u',"
		"'labels':{'app':'db'}},'spec':{%s'containers':[{'name':'c',"
		"'resources':{'requests':{%s'cpu':'1','memory':'1Gi'}}}]}}",
		spec, requests);

	return given_pod(interner, json);
}

/* Whether two VMs with these pods are of one class. */
static bool are_alike(struct interner *interner, struct pod *a, struct pod *b)
{
	struct cluster cluster = { .interner = interner };
	struct plan_vm plan_vms[] = { { .pod = a }, { .pod = b } };
	struct state_vm vms[] = { { .vm = &plan_vms[0] },
		{ .vm = &plan_vms[1] } };
	struct state state = { .cluster = &cluster, .vms = vms, .vm_count = 2 };
	struct classes classes;
	bool alike;

	classes_begin(&classes, &state, false);
	alike = vms[0].class == vms[1].class;
	assert_int_equal(classes.count, alike ? 1 : 2);
	classes_end(&classes);
	return alike;
}

static const struct {
	const char *requests, *spec;
} different[] = {
	{ "", "" },
	{ "", "'priority':5," },
	{ "'devices.kubevirt.io/kvm':'1',", "" },
	{ "'nvidia.com/gpu':'1',", "" },
	{ "'nvidia.com/gpu':'2',", "" },
	{ "'example.com/disk':'1',", "" },
	{ "'ephemeral-storage':'1Gi',", "" },
	{ "", "'nodeSelector':{'disk':'fast'}," },
	{ "", "'nodeSelector':{'disk':'slow'}," },
	{ "", "'nodeSelector':{'disk':'fast','rack':'1'}," },
	{ "", "'tolerations':[{'operator':'Exists'}]," },
	{ "", "'tolerations':[{'key':'a','operator':'Exists'}]," },
	{ "",
		"'tolerations':[{'key':'a','operator':'Exists','effect':"
		"'NoSchedule'}]," },
	{ "", "'tolerations':[{'key':'a','value':'1'}]," },
	{ "", "'tolerations':[{'key':'a','value':'2'}]," },
};

static void pods_that_need_the_same_are_of_one_class(void **state)
{
	struct interner *interner = interner_new();

	(void)state;
	for (size_t i = 0; i < count_of(different); i++) {
		struct pod *a = pod_with(interner, different[i].requests,
			different[i].spec);
		struct pod *b = pod_with(interner, different[i].requests,
			different[i].spec);

		assert_true(are_alike(interner, a, b));
		pod_free(a);
		pod_free(b);
	}
	interner_free(interner);
}

static void any_difference_makes_another_class(void **state)
{
	struct interner *interner = interner_new();

	(void)state;
	for (size_t i = 0; i < count_of(different); i++) {
		for (size_t k = 0; k < count_of(different); k++) {
			struct pod *a = pod_with(interner,
				different[i].requests, different[i].spec);
			struct pod *b = pod_with(interner,
				different[k].requests, different[k].spec);

			assert_int_equal(are_alike(interner, a, b), i == k);
			pod_free(a);
			pod_free(b);
		}
	}
	interner_free(interner);
}

static void a_pod_with_required_affinity_is_alone(void **state)
{
	static const char spec[] =
		"'affinity':{'nodeAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':{"
		"'nodeSelectorTerms':[{'matchExpressions':[{'key':'a',"
		"'operator':'Exists'}]}]}}},";
	struct interner *interner = interner_new();
	struct pod *a = pod_with(interner, "", spec);
	struct pod *b = pod_with(interner, "", spec);

	(void)state;
	assert_false(are_alike(interner, a, b));
	assert_true(are_alike(interner, a, a));
	pod_free(a);
	pod_free(b);
	interner_free(interner);
}

static void a_pod_with_ports_or_volumes_is_not_plain(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = pod_with(interner, "", "");
	struct state plain = { .has_relations = false };

	(void)state;
	assert_true(classes_is_plain(&plain, pod));
	pod->ports.count = 1;
	assert_false(classes_is_plain(&plain, pod));
	pod->ports.count = 0;
	pod->volumes.claim_count = 1;
	assert_false(classes_is_plain(&plain, pod));
	pod->volumes.claim_count = 0;
	pod->volumes.disk_count = 1;
	assert_false(classes_is_plain(&plain, pod));
	pod->volumes.disk_count = 0;
	plain.has_relations = true;
	assert_false(classes_is_plain(&plain, pod));
	pod_free(pod);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_that_need_the_same_are_of_one_class),
		cmocka_unit_test(any_difference_makes_another_class),
		cmocka_unit_test(a_pod_with_required_affinity_is_alone),
		cmocka_unit_test(a_pod_with_ports_or_volumes_is_not_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
