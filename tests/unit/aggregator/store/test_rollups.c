#include "aggregator/store/rollups.h"

#include "tests/unit/aggregator/store/fixture.h"

struct minutes {
	size_t count;
	struct rollup_row rows[ROLLUP_ROWS];
};

static bool on_rollup(void *owner, const struct store_rollup *rollup)
{
	struct minutes *minutes = owner;

	minutes->rows[minutes->count] = *rollup->row;
	minutes->count++;
	return true;
}

static struct minutes minutes_of(struct fixture *f, uint64_t from_ms,
	enum store_tier tier, const char *pod_uid)
{
	struct minutes minutes = { 0 };
	struct store_read read = { .tier = tier,
		.rollup = on_rollup,
		.owner = &minutes };
	struct hour_scan_range range = { f->node, "n1", pod_uid, from_ms,
		from_ms + hour_ms, SCHEMA_ALL };
	bool is_done = false;

	assert_int_equal(
		rollups_read(f->scan, f->db, &is_done, &read, &range, NULL), 0);
	return minutes;
}

static void assert_cores(const struct rollup_figure *figure, double cores)
{
	assert_true(fabs(figure->mean - cores) < 0.0006);
	assert_true(fabs(figure->max - cores) < 0.0006);
	assert_true(fabs(figure->p95 - cores) < 0.0006);
}

static void assert_hour(struct fixture *f, uint64_t base_ms)
{
	struct minutes node = minutes_of(f, base_ms, STORE_1M, NULL);
	struct minutes pod = minutes_of(f, base_ms, STORE_1M, "pod-1");
	struct minutes hour = minutes_of(f, base_ms, STORE_1H, NULL);

	assert_int_equal(node.count, 60);
	assert_int_equal(pod.count, 60);
	assert_int_equal(hour.count, 1);
	assert_int_equal(node.rows[59].from_ms, base_ms + hour_ms - 60000);
	assert_int_equal(node.rows[0].covered_ms, 60000 - 2700);
	assert_int_equal(node.rows[30].covered_ms, 60000);
	assert_cores(&node.rows[30].figures[ROLLUP_cpu_used_cores], 1.5);
	assert_cores(&pod.rows[30].figures[ROLLUP_VM_USED_CORES], 0.5);
	assert_cores(&hour.rows[0].figures[ROLLUP_cpu_used_cores], 1.5);
	assert_true(isnan(
		hour.rows[0].figures[ROLLUP_memory_working_set_bytes].mean));
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, "pod-9").count, 0);
}

static void minutes_are_the_same_computed_and_packed(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 3600);
	assert_hour(f, base_ms);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM rollup_due"),
		0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM place"), 2);
	assert_hour(f, base_ms);
}

static void late_reports_are_rolled_up(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 900);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, NULL).count, 30);
	fixture_add_range(f, base_ms, 900, 1800);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_hour(f, base_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(minutes_are_the_same_computed_and_packed),
		fixture_test(late_reports_are_rolled_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
