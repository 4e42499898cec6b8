#include "scheduler/objects/rejection.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distinguishes_the_reasons_of_kubelet),
		cmocka_unit_test(each_rejection_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
