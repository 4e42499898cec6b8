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

static void assert_named(const char *names)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	buffer_text(&out, "");
	node_exclusion_name(&out, node_exclusion_by_work(&node, &work), &work);
	assert_string_equal(out.data, names);
}

static void somebody_elses_work_has_a_name(void **state)
{
	(void)state;
	work.foreign_out = 1;
	assert_named("");
	work.work = (struct others_work){ "tenant", "web", "m" };
	assert_named(": the migration tenant/m of the VM web");
	work.is_evicting = true;
	work.work.migration = "";
	assert_named(": the VM tenant/web");
	node.is_unschedulable = true;
	assert_named("");
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
		test(somebody_elses_work_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
