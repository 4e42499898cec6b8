#include "scheduler/objects/container_statuses.h"

#include "tests/unit/scheduler/given.h"

static int order_of(const struct container_statuses *statuses, const char *name)
{
	double number = -1;

	(void)json_value_number(&number,
		json_value_get(container_statuses_find(statuses, name), "n"));
	return (int)number;
}

static void the_last_status_of_a_name_counts_and_since_1_37_the_first(
	void **state)
{
	struct json_value *status = given_json(
		"{'containerStatuses':[{'name':'b','n':1},{'name':'a','n':2},"
		"{'name':'b','n':3},{'name':'c','n':4},{'name':'a','n':5}],"
		"'initContainerStatuses':[{'name':'c','n':6},"
		"{'name':'d','n':7}]}");
	struct container_statuses statuses;

	(void)state;
	container_statuses_read(&statuses, status, false);
	assert_int_equal(statuses.count, 4);
	assert_int_equal(order_of(&statuses, "a"), 5);
	assert_int_equal(order_of(&statuses, "b"), 3);
	assert_int_equal(order_of(&statuses, "c"), 6);
	assert_int_equal(order_of(&statuses, "d"), 7);
	assert_null(container_statuses_find(&statuses, "e"));
	container_statuses_fini(&statuses);

	container_statuses_read(&statuses, status, true);
	assert_int_equal(statuses.count, 4);
	assert_int_equal(order_of(&statuses, "a"), 2);
	assert_int_equal(order_of(&statuses, "b"), 1);
	assert_int_equal(order_of(&statuses, "c"), 4);
	assert_int_equal(order_of(&statuses, "d"), 7);
	container_statuses_fini(&statuses);
	json_value_free(status);
}

static void without_statuses_none_is_found(void **state)
{
	struct container_statuses statuses;

	(void)state;
	container_statuses_read(&statuses, NULL, true);
	assert_int_equal(statuses.count, 0);
	assert_null(container_statuses_find(&statuses, "a"));
	container_statuses_fini(&statuses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_last_status_of_a_name_counts_and_since_1_37_the_first),
		cmocka_unit_test(without_statuses_none_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
