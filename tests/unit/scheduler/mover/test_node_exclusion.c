#include "scheduler/mover/node_exclusion.h"

#include "tests/support/cm.h"

static struct node node;
static struct kubevirt_node work;

static int setup(void **state)
{
	(void)state;
	node = (struct node){ 0 };
	work = (struct kubevirt_node){ 0 };
	return 0;
}

static void assert_why(const char *why)
{
	assert_string_equal(node_exclusion_by_work(&node, &work), why);
}

static void a_node_without_work_takes_part(void **state)
{
	(void)state;
	work.in = 2;
	work.out = 1;
	node.vms.arriving_count = 2;
	assert_null(node_exclusion_by_work(&node, &work));
}

static void a_node_without_fresh_data_is_excluded(void **state)
{
	(void)state;
	assert_string_equal(node_exclusion(&node, &work, 1000000),
		"has no fresh data");
}

static void a_cordoned_node_is_excluded(void **state)
{
	(void)state;
	node.is_unschedulable = true;
	assert_why("is cordoned");
}

static void a_node_whose_vm_is_evicted_is_excluded(void **state)
{
	(void)state;
	work.is_evicting = true;
	assert_why("has a VM that is being evicted");
}

static void a_foreign_migration_in_either_direction_counts(void **state)
{
	static const char why[] = "has a migration that somebody else ordered";

	(void)state;
	work.foreign_in = 1;
	assert_why(why);
	work.foreign_in = 0;
	work.foreign_out = 1;
	assert_why(why);
}

static void a_vm_that_arrives_without_a_migration_of_ours_counts(void **state)
{
	(void)state;
	work.in = 1;
	node.vms.arriving_count = 2;
	assert_why("has a VM on its way to it that somebody else moves");
}

#define test(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_node_without_work_takes_part),
		test(a_node_without_fresh_data_is_excluded),
		test(a_cordoned_node_is_excluded),
		test(a_node_whose_vm_is_evicted_is_excluded),
		test(a_foreign_migration_in_either_direction_counts),
		test(a_vm_that_arrives_without_a_migration_of_ours_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
