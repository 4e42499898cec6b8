#include "agent/kvm_verdict.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <math.h>

static const uint64_t second_us = 1000000;

static enum kvm_state after(struct kvm_verdict *verdict, enum kvm_state state,
	double cpu_pressure, uint64_t at_s)
{
	const struct kvm result = { .state = state, .error_number = EBUSY };

	kvm_verdict_add(verdict, &result, cpu_pressure, at_s * second_us);
	return verdict->kvm.state;
}

static void a_failure_counts_after_a_second_one_a_minute_later(void **state)
{
	static const enum kvm_state failures[] = { KVM_CREATE_FAILED,
		KVM_RUN_FAILED };

	(void)state;
	for (size_t i = 0; i < count_of(failures); i++) {
		struct kvm_verdict v = { 0 };

		assert_int_equal(after(&v, failures[i], 0, 5), KVM_UNVERIFIED);
		assert_int_equal(after(&v, KVM_OK, 0, 10), KVM_OK);
		assert_int_equal(after(&v, failures[i], 0.5, 70), KVM_OK);
		assert_int_equal(after(&v, failures[i], NAN, 129), KVM_OK);
		assert_int_equal(after(&v, failures[i], 0, 130), failures[i]);
		assert_int_equal(after(&v, failures[i], 0, 160), failures[i]);
		assert_int_equal(after(&v, KVM_OK, 0, 190), KVM_OK);
	}
}

static void a_success_between_two_failures_begins_the_minute_again(void **state)
{
	struct kvm_verdict v = { 0 };

	(void)state;
	(void)after(&v, KVM_RUN_FAILED, 0, 0);
	(void)after(&v, KVM_OK, 0, 30);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0, 60), KVM_OK);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0, 119), KVM_OK);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0, 120), KVM_RUN_FAILED);
}

static void a_failure_of_a_starved_node_says_nothing(void **state)
{
	struct kvm_verdict v = { 0 };

	(void)state;
	(void)after(&v, KVM_OK, 0, 0);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0.51, 30), KVM_UNVERIFIED);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0.9, 90), KVM_UNVERIFIED);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0, 120), KVM_UNVERIFIED);
	assert_int_equal(after(&v, KVM_RUN_FAILED, 0, 180), KVM_RUN_FAILED);
	assert_int_equal(after(&v, KVM_OK, 0.9, 210), KVM_OK);
}

static void what_does_not_depend_on_load_counts_at_once(void **state)
{
	struct kvm_verdict v = { 0 };

	(void)state;
	assert_int_equal(after(&v, KVM_MISSING, 0.9, 0), KVM_MISSING);
	assert_int_equal(after(&v, KVM_API_MISMATCH, 0, 1), KVM_API_MISMATCH);
	assert_int_equal(after(&v, KVM_UNVERIFIED, 0, 2), KVM_UNVERIFIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_failure_counts_after_a_second_one_a_minute_later),
		cmocka_unit_test(
			a_success_between_two_failures_begins_the_minute_again),
		cmocka_unit_test(a_failure_of_a_starved_node_says_nothing),
		cmocka_unit_test(what_does_not_depend_on_load_counts_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
