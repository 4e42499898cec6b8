#include "agent/node.h"

#include "tests/support/cm.h"

static void reads_the_cpu_time_and_memory_of_this_process(void **state)
{
	struct own_cost first = { REPORT_UNKNOWN, REPORT_UNKNOWN,
		REPORT_UNKNOWN };
	struct own_cost second = first;

	(void)state;
	node_read_own_cost(&first, NODE_OWN_STATM);
	node_read_own_cost(&second, NODE_OWN_STATM);
	assert_true(first.cpu_us <= second.cpu_us);
	assert_true(second.cpu_us < UINT64_C(3600000000));
	assert_in_range(first.rss_bytes, 100 << 10, 1 << 30);
	assert_true(first.spool_bytes == REPORT_UNKNOWN);
}

static void leaves_unreadable_values_unknown(void **state)
{
	struct own_cost cost = { REPORT_UNKNOWN, REPORT_UNKNOWN,
		REPORT_UNKNOWN };

	(void)state;
	node_read_own_cost(&cost, "/no/such/file");
	assert_true(cost.rss_bytes == REPORT_UNKNOWN);
	assert_true(cost.cpu_us != REPORT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_cpu_time_and_memory_of_this_process),
		cmocka_unit_test(leaves_unreadable_values_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
