#include "scheduler/forecast/kin_sums.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static const kin_key farm = 0x100000005, other = 0x100000009;

static struct kin_vm vm_of(kin_key key, double vcpus, double deviation)
{
	return (struct kin_vm){ key, 0.5, vcpus, deviation * deviation };
}

static void assert_excess(const struct kin_excess *is, double variance,
	double third)
{
	assert_true(fabs(is->variance - variance) < 1e-9);
	assert_true(fabs(is->third - third) < 1e-9);
}

/* rho (S^2 - sum s2) and rho (S^2 sum c - sum s2 c), with rho 0.5. */
static void kin_count_like_one_vm_of_all_their_vcpus(void **state)
{
	struct kin_sums sums = { 0 };
	const struct kin_vm small = vm_of(farm, 4, 1),
			    large = vm_of(farm, 8, 2);
	const struct kin_vm stranger = vm_of(other, 16, 3);
	struct kin_excess with;

	(void)state;
	kin_sums_add(&sums, &small);
	kin_sums_add(&sums, &stranger);
	assert_excess(&sums.excess, 0, 0);
	with = kin_sums_with(&sums, &large);
	assert_excess(&with, 0.5 * (9 - 5), 0.5 * (9 * 12 - 36));
	kin_sums_add(&sums, &large);
	assert_excess(&sums.excess, 0.5 * (9 - 5), 0.5 * (9 * 12 - 36));
	with = kin_sums_without(&sums, &small);
	assert_excess(&with, 0, 0);
	with = kin_sums_with(&sums, &stranger);
	assert_excess(&with, 2 + 0.5 * (36 - 18), 36 + 0.5 * (36 * 32 - 288));
	kin_sums_fini(&sums);
}

static void what_leaves_leaves_nothing(void **state)
{
	struct kin_sums sums = { 0 };
	struct kin_vm vms[30];

	(void)state;
	for (size_t i = 0; i < 30; i++) {
		vms[i] = vm_of(0x100000001 + 4 * (i % 7), 1 + (double)(i % 5),
			0.1 * (double)(i + 1));
		kin_sums_add(&sums, &vms[i]);
	}
	assert_int_equal(sums.count, 7);
	for (size_t i = 0; i < 30; i++) {
		kin_sums_remove(&sums, &vms[i * 7 % 30]);
	}
	assert_int_equal(sums.count, 0);
	assert_excess(&sums.excess, 0, 0);
	kin_sums_fini(&sums);
}

static void kin_that_do_not_move_together_cost_nothing(void **state)
{
	struct kin_sums sums = { 0 };
	struct kin_vm vm = vm_of(farm, 4, 1);
	struct kin_excess with;

	(void)state;
	vm.rho = 0;
	kin_sums_add(&sums, &vm);
	kin_sums_add(&sums, &vm);
	assert_int_equal(sums.count, 0);
	with = kin_sums_with(&sums, &vm);
	assert_excess(&with, 0, 0);
	kin_sums_fini(&sums);
}

static void a_copy_is_of_its_own(void **state)
{
	struct kin_sums sums = { 0 }, copy;
	const struct kin_vm vm = vm_of(farm, 4, 1);

	(void)state;
	kin_sums_add(&sums, &vm);
	copy = kin_sums_copy(&sums);
	kin_sums_add(&copy, &vm);
	assert_int_equal(kin_sums_group(&sums, farm)->count, 1);
	assert_int_equal(kin_sums_group(&copy, farm)->count, 2);
	assert_null(kin_sums_group(&copy, other));
	kin_sums_fini(&sums);
	kin_sums_fini(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kin_count_like_one_vm_of_all_their_vcpus),
		cmocka_unit_test(what_leaves_leaves_nothing),
		cmocka_unit_test(kin_that_do_not_move_together_cost_nothing),
		cmocka_unit_test(a_copy_is_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
