#include "scheduler/cluster/vm_failures.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/vm_waits.h"

#define SECOND INT64_C(1000000)
#define NOW (1000 * SECOND)

static int64_t wait(const struct vm_failures *failures, const char *vm,
	const char *node, int64_t now)
{
	return vm_wait_until(failures, "d", vm, node) - now;
}

static void the_wait_doubles_with_each_failure_in_a_row(void **state)
{
	struct vm_failures failures = { 0 };
	int64_t expected = VM_FAILURES_WAIT_US;
	int64_t now = NOW;
	(void)state;

	assert_int_equal(vm_wait_until(&failures, "d", "vm", "n"), 0);
	for (int i = 0; i < 20; i++) {
		vm_failures_add(&failures, "d", "vm", "n", now);
		assert_int_equal(wait(&failures, "vm", "n", now), expected);
		now += expected;
		expected = expected * 2 < VM_FAILURES_WAIT_MAX_US
			? expected * 2
			: VM_FAILURES_WAIT_MAX_US;
	}
	assert_int_equal(vm_wait_until(&failures, "d", "vm", "other"), 0);
	assert_int_equal(vm_wait_until(&failures, "e", "vm", "n"), 0);
	vm_failures_fini(&failures);
}

static void two_reports_of_one_failure_count_once(void **state)
{
	struct vm_failures failures = { 0 };
	(void)state;

	vm_failures_add(&failures, "d", "vm", "n", NOW);
	vm_failures_add(&failures, "d", "vm", "n", NOW + SECOND);
	assert_int_equal(wait(&failures, "vm", "n", NOW), VM_FAILURES_WAIT_US);
	vm_failures_fini(&failures);
}

static void a_success_or_a_long_time_ends_the_row(void **state)
{
	struct vm_failures failures = { 0 };
	int64_t later = NOW + 9 * VM_FAILURES_WAIT_MAX_US;
	(void)state;

	vm_failures_add(&failures, "d", "vm", "n", NOW);
	vm_failures_succeeded(&failures, "d", "vm", "other");
	assert_true(vm_wait_until(&failures, "d", "vm", "n") > NOW);
	vm_failures_succeeded(&failures, "d", "vm", "n");
	assert_int_equal(vm_wait_until(&failures, "d", "vm", "n"), 0);
	assert_int_equal(failures.by_vm.count, 0);
	vm_failures_add(&failures, "d", "vm", "n", NOW);
	vm_failures_add(&failures, "d", "vm", "n", later);
	assert_int_equal(wait(&failures, "vm", "n", later),
		VM_FAILURES_WAIT_US);
	vm_failures_fini(&failures);
}

static void a_restored_row_goes_on(void **state)
{
	struct vm_failures failures = { 0 };
	(void)state;

	vm_failures_restore(&failures, "d", "vm", "n", 2, NOW + SECOND);
	assert_int_equal(wait(&failures, "vm", "n", NOW), SECOND);
	vm_failures_add(&failures, "d", "vm", "n", NOW + SECOND);
	assert_int_equal(wait(&failures, "vm", "n", NOW + SECOND),
		4 * VM_FAILURES_WAIT_US);
	vm_failures_restore(&failures, "d", "other", "n", 0, NOW);
	assert_int_equal(vm_wait_until(&failures, "d", "other", "n"), 0);
	vm_failures_fini(&failures);
}

static void forgets_the_oldest_nodes_and_vms(void **state)
{
	struct vm_failures failures = { 0 };
	(void)state;

	for (int i = 0; i <= VM_FAILURES_NODES_MAX; i++) {
		scoped_free char *node = xasprintf("n%d", i);

		vm_failures_add(&failures, "d", "vm", node, NOW + i);
	}
	assert_int_equal(vm_wait_until(&failures, "d", "vm", "n0"), 0);
	assert_true(vm_wait_until(&failures, "d", "vm", "n1") > 0);
	for (int i = 0; i < VM_FAILURES_VMS_MAX; i++) {
		scoped_free char *vm = xasprintf("vm%d", i);

		vm_failures_add(&failures, "d", vm, "n", NOW + SECOND + i);
	}
	assert_int_equal(failures.by_vm.count, VM_FAILURES_VMS_MAX);
	assert_null(vm_failures_of(&failures, "d", "vm"));
	assert_non_null(vm_failures_of(&failures, "d", "vm0"));
	vm_failures_fini(&failures);
}

static void nothing_is_known_of_pods_without_a_vm(void **state)
{
	struct vm_failures failures = { 0 };
	(void)state;

	vm_failures_add(&failures, "d", "", "n", NOW);
	vm_failures_add(&failures, "d", "vm", "", NOW);
	assert_int_equal(failures.by_vm.count, 0);
	assert_null(vm_failures_of(&failures, NULL, NULL));
	vm_failures_fini(&failures);
}

static void records_do_not_shorten_a_wait(void **state)
{
	struct vm_failures failures = { 0 };
	int64_t until_us;

	(void)state;
	vm_failures_add(&failures, "prod", "web", "n2", 1000);
	until_us = vm_wait_until(&failures, "prod", "web", "n2");
	vm_failures_restore(&failures, "prod", "web", "n2", 1, until_us - 1);
	assert_int_equal(vm_wait_until(&failures, "prod", "web", "n2"),
		until_us);
	vm_failures_restore(&failures, "prod", "web", "n2", 2, until_us + 1);
	assert_int_equal(vm_wait_until(&failures, "prod", "web", "n2"),
		until_us + 1);
	vm_failures_fini(&failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wait_doubles_with_each_failure_in_a_row),
		cmocka_unit_test(two_reports_of_one_failure_count_once),
		cmocka_unit_test(a_success_or_a_long_time_ends_the_row),
		cmocka_unit_test(a_restored_row_goes_on),
		cmocka_unit_test(forgets_the_oldest_nodes_and_vms),
		cmocka_unit_test(nothing_is_known_of_pods_without_a_vm),
		cmocka_unit_test(records_do_not_shorten_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
