#include "scheduler/objects/pod_kin.h"

#include "tests/unit/scheduler/given.h"

/* The ids are those of these texts while the pods are there. */
static struct {
	struct pod *list[16];
	size_t count;
} pods;

static struct kin_keys keys_of(struct interner *interner, const char *namespace,
	const char *memory, const char *labels)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p','namespace':'%s','uid':'u','labels':{"
		"'kubevirt.io':'virt-launcher'%s}},'spec':{'containers':[{"
		"'name':'compute','resources':{'requests':{'cpu':'400m',"
		"'memory':'%s'}}}]}}",
		namespace, labels, memory);
	struct pod *pod = given_pod(interner, json);
	const struct kin_keys keys = pod_kin(pod);

	assert_true(pods.count < count_of(pods.list));
	pods.list[pods.count++] = pod;
	return keys;
}

/* Frees the pods, and then the interner. */
static void end(struct interner *interner)
{
	while (pods.count > 0) {
		pod_free(pods.list[--pods.count]);
	}
	interner_free(interner);
}

static void vms_of_one_size_in_one_namespace_are_kin(void **state)
{
	struct interner *interner = interner_new();
	const struct kin_keys one = keys_of(interner, "a", "1Gi", "");
	const struct kin_keys same = keys_of(interner, "a", "1Gi", "");
	const struct kin_keys larger = keys_of(interner, "a", "2Gi", "");
	const struct kin_keys elsewhere = keys_of(interner, "b", "1Gi", "");

	(void)state;
	for (int i = 0; i < KIN_TIES; i++) {
		assert_true(one.by[i] != 0 && one.by[i] == same.by[i]);
		assert_true(one.by[i] != larger.by[i]);
		assert_true(one.by[i] >> 32 == larger.by[i] >> 32);
		assert_true(one.by[i] >> 32 != elsewhere.by[i] >> 32);
	}
	end(interner);
}

static void labels_tie_vms_of_any_size(void **state)
{
	static const char *const farm[] = {
		",'app':'render','pod-template-hash':'x'",
		",'app.kubernetes.io/name':'render'",
		",'app.kubernetes.io/instance':'one',"
		"'app.kubernetes.io/name':'render','app':'y'",
		",'kubevirt.io/vmpool':'farm','app':'x'",
	};
	static const char *const other[] = {
		",'app':'web'",
		",'app.kubernetes.io/name':'web'",
		",'app.kubernetes.io/instance':'two',"
		"'app.kubernetes.io/name':'render','app':'y'",
		",'kubevirt.io/vmpool':'other','app':'x'",
	};
	struct interner *interner = interner_new();

	(void)state;
	for (size_t i = 0; i < count_of(farm); i++) {
		const struct kin_keys a =
			keys_of(interner, "a", "1Gi", farm[i]);
		const struct kin_keys b =
			keys_of(interner, "a", "2Gi", farm[i]);
		const struct kin_keys c =
			keys_of(interner, "a", "1Gi", other[i]);

		assert_true(a.by[KIN_BY_LABELS] == b.by[KIN_BY_LABELS]);
		assert_true(a.by[KIN_BY_LABELS] != c.by[KIN_BY_LABELS]);
		assert_true(a.by[KIN_BY_SIZE] == c.by[KIN_BY_SIZE]);
		assert_true(a.by[KIN_BY_SIZE] != b.by[KIN_BY_SIZE]);
	}
	end(interner);
}

static void other_pods_have_no_kin(void **state)
{
	struct interner *interner = interner_new();
	struct pod *pod = given_spec(interner, "{'containers':[]}");

	(void)state;
	assert_true(pod_kin(pod).by[KIN_BY_SIZE] == 0);
	pod_free(pod);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vms_of_one_size_in_one_namespace_are_kin),
		cmocka_unit_test(labels_tie_vms_of_any_size),
		cmocka_unit_test(other_pods_have_no_kin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
