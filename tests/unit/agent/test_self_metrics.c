#include "agent/self_metrics.h"

#include "tests/support/cm.h"

static void a_process_knows_what_it_costs(void **state)
{
	struct own_cost first = { REPORT_UNKNOWN, REPORT_UNKNOWN,
		REPORT_UNKNOWN };
	struct own_cost second = first;
	struct own own;

	(void)state;
	own_init(&own);
	own_read(&first, &own);
	own_read(&second, &own);
	own_fini(&own);
	assert_true(first.cpu_us <= second.cpu_us);
	assert_true(second.cpu_us < UINT64_C(3600000000));
	assert_in_range(first.rss_bytes, 100 << 10, 1 << 30);
	assert_true(first.spool_bytes == REPORT_UNKNOWN);
}

static void what_cannot_be_read_stays_unknown(void **state)
{
	struct own_cost cost = { REPORT_UNKNOWN, REPORT_UNKNOWN,
		REPORT_UNKNOWN };
	struct own own;

	(void)state;
	own_init(&own);
	kept_file_init(&own.statm, -1, "no/such/file");
	own_read(&cost, &own);
	own_fini(&own);
	assert_true(cost.rss_bytes == REPORT_UNKNOWN);
	assert_true(cost.cpu_us != REPORT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_knows_what_it_costs),
		cmocka_unit_test(what_cannot_be_read_stays_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
