#include "scheduler/objects/rejection.h"

#include <math.h>

#include "tests/unit/scheduler/given.h"

static void distinguishes_the_reasons_of_kubelet(void **state)
{
	static const struct {
		const char *status;
		enum rejection rejection;
	} cases[] = {
		{ "{'phase':'Failed','reason':'OutOfcpu'}", REJECTION_CPU },
		{ "{'phase':'Failed','reason':'OutOfmemory'}",
			REJECTION_MEMORY },
		{ "{'phase':'Failed','reason':'OutOfpods'}", REJECTION_PODS },
		{ "{'phase':'Failed','reason':'OutOfephemeral-storage'}",
			REJECTION_RESOURCE },
		{ "{'phase':'Failed','reason':'OutOfdevices.kubevirt.io/kvm'}",
			REJECTION_RESOURCE },
		{ "{'phase':'Failed','reason':'NodeAffinity'}",
			REJECTION_AFFINITY },
		{ "{'phase':'Failed','reason':'UnexpectedAdmissionError'}",
			REJECTION_ADMISSION },
		{ "{'phase':'Failed','reason':'NodePorts','message':'Pod was "
		  "rejected: no'}",
			REJECTION_OTHER },
		{ "{'phase':'Running','reason':'OutOfcpu'}", REJECTION_NONE },
		{ "{'phase':'Failed','reason':'Evicted'}", REJECTION_NONE },
		{ "{'phase':'Failed','reason':'DeadlineExceeded','message':"
		  "'too late'}",
			REJECTION_NONE },
		{ "{'phase':'Failed'}", REJECTION_NONE },
		{ "{}", REJECTION_NONE },
		{ "[]", REJECTION_NONE },
		{ "{'phase':7,'reason':7,'message':7}", REJECTION_NONE },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			xasprintf("{'status':%s}", cases[i].status);
		struct json_value *pod = given_json(text);

		given_check(rejection_of(pod) == cases[i].rejection, text);
		json_value_free(pod);
	}
}

static void each_rejection_has_a_name(void **state)
{
	(void)state;
	for (int i = REJECTION_NONE + 1; i < REJECTIONS; i++) {
		assert_non_null(rejection_name((enum rejection)i));
	}
	assert_string_equal(rejection_name(REJECTION_MEMORY), "OutOfmemory");
}

static void the_cost_grows_with_different_vms_and_has_a_limit(void **state)
{
	static const double costs[] = { 0.5 / 31, 1.5 / 31, 3.5 / 31, 7.5 / 31,
		0.5, 0.5 };
	struct rejections r = { 0 };
	(void)state;

	assert_true(rejections_cost(&r, 0) <= 0);
	for (uint32_t vm = 0; vm < count_of(costs); vm++) {
		rejections_add(&r, vm, 7);
		rejections_add(&r, vm, 7);
		assert_true(fabs(rejections_cost(&r, 7) - costs[vm]) < 1e-6);
	}
}

static void two_vms_in_turn_are_two(void **state)
{
	struct rejections r = { 0 };
	(void)state;

	for (uint32_t i = 0; i < 10; i++) {
		rejections_add(&r, i % 2, 7);
	}
	assert_true(fabs(rejections_cost(&r, 7) - 1.5 / 31) < 1e-6);
}

static void more_vms_than_count_keep_the_limit(void **state)
{
	struct rejections r = { 0 };
	(void)state;

	for (uint32_t i = 0; i < 100; i++) {
		rejections_add(&r, i % 7, 7);
	}
	assert_true(fabs(rejections_cost(&r, 7) - 0.5) < 1e-6);
}

static uint32_t hash_of(const char *metadata)
{
	scoped_free char *text = xasprintf("{'metadata':%s}", metadata);
	struct json_value *pod = given_json(text);
	uint32_t hash = rejection_hash(pod);

	json_value_free(pod);
	return hash;
}

#define OF_VM "'annotations':{'kubevirt.io/domain':'web'}"
#define OWNED(uid)                                                             \
	"'annotations':{'kubevirt.io/domain':''},'ownerReferences':["          \
	"{'uid':'other'},{'uid':'" uid "','controller':true}]"

static void pods_of_one_vm_or_controller_have_one_hash(void **state)
{
	static const struct {
		const char *one, *other;
		bool is_same;
	} cases[] = {
		{ "{'name':'p','namespace':'a'," OF_VM "}",
			"{'name':'q','namespace':'a'," OF_VM "}", true },
		{ "{'name':'p','namespace':'a'," OF_VM "}",
			"{'name':'p','namespace':'b'," OF_VM "}", false },
		{ "{'name':'p','namespace':'a'," OWNED("u") "}",
			"{'name':'q','namespace':'a'," OWNED("u") "}", true },
		{ "{'name':'p','namespace':'a'," OWNED("u") "}",
			"{'name':'p','namespace':'a'," OWNED("v") "}", false },
		{ "{'name':'p'}", "{'name':'q'}", false },
		{ "[]", "{}", true },
	};
	(void)state;

	for (size_t i = 0; i < count_of(cases); i++) {
		given_check(
			(hash_of(cases[i].one) == hash_of(cases[i].other)) ==
				cases[i].is_same,
			cases[i].one);
	}
}

static void one_rejection_is_forgotten_in_ten_minutes(void **state)
{
	struct rejections r = { 0 };
	(void)state;

	rejections_add(&r, 1, 0);
	rejections_add(&r, 2, 0);
	assert_true(fabs(rejections_cost(&r, REJECTION_FADES_US) - 0.5 / 31) <
		1e-6);
	assert_true(rejections_cost(&r, 2 * REJECTION_FADES_US) <= 0);
	/* The same VM counts again once it is forgotten. */
	rejections_add(&r, 2, 2 * REJECTION_FADES_US);
	assert_true(rejections_cost(&r, 2 * REJECTION_FADES_US) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distinguishes_the_reasons_of_kubelet),
		cmocka_unit_test(each_rejection_has_a_name),
		cmocka_unit_test(
			the_cost_grows_with_different_vms_and_has_a_limit),
		cmocka_unit_test(two_vms_in_turn_are_two),
		cmocka_unit_test(more_vms_than_count_keep_the_limit),
		cmocka_unit_test(pods_of_one_vm_or_controller_have_one_hash),
		cmocka_unit_test(one_rejection_is_forgotten_in_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
