#include "scheduler/rebalance/budget.h"

#include "tests/support/cm.h"

#include <string.h>

static void moves_stay_one_below_kubevirts_limits(void **state)
{
	static const unsigned limits[][2] = { { 0, 1 }, { 1, 1 }, { 2, 1 },
		{ 3, 2 }, { 5, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct budget budget = { .per_cluster = limits[i][0] };

		assert_int_equal(budget_per_cluster(&budget), limits[i][1]);
		assert_int_equal(budget_out_of_node(limits[i][0], 0),
			limits[i][1]);
	}
}

static void an_only_slot_of_a_node_is_left_to_evacuations(void **state)
{
	(void)state;
	assert_int_equal(budget_out_of_node(1, 0), 1);
	assert_int_equal(budget_out_of_node(1, 1), 0);
	assert_int_equal(budget_out_of_node(2, 1), 1);
	assert_int_equal(budget_out_of_node(5, 3), 4);
}

static void an_hour_has_one_move_for_each_hundred_vms(void **state)
{
	struct budget budget = { .vms = 300 };

	(void)state;
	assert_int_equal(budget_per_hour(&budget), 5);
	budget.vms = 30000;
	assert_int_equal(budget_per_hour(&budget), 300);
	budget.vms = 1000000;
	assert_int_equal(budget_per_hour(&budget), BUDGET_HOUR_MAX);
	budget.per_hour = 2;
	assert_int_equal(budget_per_hour(&budget), 2);
}

static void refusals_name_the_limit(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(400);
	struct budget budget = { .per_cluster = 5, .ordered = 4 };

	(void)state;
	assert_true(budget_admits(&budget, &why));
	assert_int_equal(why.len, 0);
	budget.ordered = 5;
	assert_false(budget_admits(&budget, &why));
	assert_non_null(strstr(why.data, "--rebalance-max-per-hour is 5"));
	buffer_clear(&why);
	budget.ordered = 0;
	budget.unfinished = 4;
	assert_false(budget_admits(&budget, &why));
	assert_non_null(strstr(why.data, "KubeVirt's limit of 5"));
}

static void drains_go_first(void **state)
{
	scoped_buffer struct buffer why = BUFFER_MAX(400);
	struct budget budget = { .per_cluster = 5,
		.unfinished = 1,
		.foreign = 1 };

	(void)state;
	assert_true(budget_admits(&budget, &why));
	budget.unfinished = 2;
	assert_false(budget_admits(&budget, &why));
	assert_non_null(strstr(why.data, "go first"));
	budget.foreign = 0;
	assert_true(budget_admits(&budget, &why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_stay_one_below_kubevirts_limits),
		cmocka_unit_test(an_only_slot_of_a_node_is_left_to_evacuations),
		cmocka_unit_test(an_hour_has_one_move_for_each_hundred_vms),
		cmocka_unit_test(refusals_name_the_limit),
		cmocka_unit_test(drains_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
