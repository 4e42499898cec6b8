#include "aggregator/store/rollups.h"

#include "aggregator/store/partition.h"
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

static struct minutes minutes_from(struct fixture *f,
	struct computed_hours *computed, uint64_t from_ms, enum store_tier tier,
	const char *pod_uid)
{
	const struct rollups_source source = { f->db, f->scan, computed, 1 };
	struct minutes minutes = { 0 };
	struct store_read read = { .tier = tier,
		.may_be_kept = computed != NULL,
		.rollup = on_rollup,
		.owner = &minutes };
	struct hour_scan_range range = { f->node, "n1", pod_uid, from_ms,
		from_ms + hour_ms, SCHEMA_ALL };
	struct error err = { 0 };
	bool is_done = false;

	assert_int_equal(rollups_read(&source, &is_done, &read, &range, &err),
		0);
	assert_int_equal(err.code, 0);
	return minutes;
}

static struct minutes minutes_of(struct fixture *f, uint64_t from_ms,
	enum store_tier tier, const char *pod_uid)
{
	return minutes_from(f, NULL, from_ms, tier, pod_uid);
}

static bool on_report(void *owner, const struct store_row *row)
{
	(void)row;
	*(size_t *)owner += 1;
	return true;
}

static size_t count_reports(struct fixture *f, uint64_t from_ms)
{
	struct hour_scan_range range = { f->node, "n1", NULL, from_ms,
		from_ms + hour_ms, SCHEMA_ALL };
	struct error err = { 0 };
	bool is_done = false;
	size_t count = 0;

	assert_int_equal(hour_scan_read(f->scan, &is_done, &range, on_report,
				 &count, &err),
		0);
	assert_int_equal(err.code, 0);
	return count;
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
	assert_cores(&pod.rows[30].figures[ROLLUP_VM_used_cores], 0.5);
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

static void a_reader_who_may_gets_kept_minutes_from_the_second_time_on(
	void **state)
{
	struct fixture *f = *state;
	struct computed_hours *computed = computed_hours_new();
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct minutes one, two;

	fixture_add_range(f, base_ms, 1, 900);
	one = minutes_from(f, computed, base_ms, STORE_1M, "pod-1");
	two = minutes_from(f, computed, base_ms, STORE_1M, "pod-2");
	assert_int_equal(one.count, 30);
	assert_int_equal(two.count, 30);
	fixture_add_range(f, base_ms, 900, 1800);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, "pod-1").count, 60);
	one = minutes_from(f, computed, base_ms, STORE_1M, "pod-1");
	assert_int_equal(one.count, 30);
	assert_cores(&one.rows[20].figures[ROLLUP_VM_used_cores], 0.5);
	assert_int_equal(
		minutes_from(f, computed, base_ms, STORE_1M, "pod-9").count, 0);
	/* The node's own minutes are always new. */
	assert_int_equal(
		minutes_from(f, computed, base_ms, STORE_1M, NULL).count, 60);
	computed_hours_free(computed);
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

/* Seconds of reports that each name `count` other pods. */
static void add_crowds(struct fixture *f, uint64_t base_ms, size_t reports,
	size_t count)
{
	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (size_t seq = 1; seq <= reports; seq++) {
		struct report r = steady_report(seq, 2 * (double)seq, 1.5);

		fixture_crowd(&r, seq * count, count);
		fixture_add_report(f, &r, base_ms + 2000 * seq);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

static void pods_above_the_limit_of_an_hour_are_left_out(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	add_crowds(f, base_ms, 8, 1000);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_int_equal(f->rollups.left_out.samples, 7000 - ROLLUP_PODS_MAX);
	assert_int_equal(f->rollups.left_out.hours, 0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM place"),
		ROLLUP_PODS_MAX);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, NULL).count, 1);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, "pod-2000").count, 1);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, "pod-8000").count, 0);
}

/* As if many chunks of the node's hour took so many bytes. */
static void add_large_chunk(struct fixture *f, uint64_t base_ms)
{
	scoped_free void *body = xcalloc(ROLLUPS_CHUNK_BYTES, 1);
	const struct partition_blob blob = { f->node, base_ms + 1,
		base_ms + hour_ms - 1, body, ROLLUPS_CHUNK_BYTES };

	assert_int_equal(partition_add(f->db, STORE_RAW, &blob, NULL), 0);
}

static void an_hour_that_is_too_large_is_left_out_and_the_next_is_not(
	void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fixture_add_range(f, base_ms, 1, 3600);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	add_large_chunk(f, base_ms);
	fixture_roll_up_all(f);
	assert_int_equal(f->rollups.left_out.hours, 1);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM rollup_due"),
		0);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, NULL).count, 0);
	assert_int_equal(minutes_of(f, base_ms, STORE_1H, "pod-1").count, 0);
	assert_int_equal(minutes_of(f, base_ms + hour_ms, STORE_1M, NULL).count,
		60);
	assert_int_equal(count_reports(f, base_ms), 1799);
}

static void a_node_that_reports_too_often_has_no_minutes(void **state)
{
	enum { REPORTS = 70000 };
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (size_t seq = 1; seq <= REPORTS; seq++) {
		struct report r = steady_report(seq, 0.05 * (double)seq, 1.5);

		fixture_add_report(f, &r, base_ms + 50 * seq);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	fixture_roll_up_all(f);
	assert_int_equal(f->rollups.left_out.hours, 1);
	assert_int_equal(minutes_of(f, base_ms, STORE_1M, NULL).count, 0);
	assert_int_equal(count_reports(f, base_ms), REPORTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(minutes_are_the_same_computed_and_packed),
		fixture_test(
			a_reader_who_may_gets_kept_minutes_from_the_second_time_on),
		fixture_test(late_reports_are_rolled_up),
		fixture_test(pods_above_the_limit_of_an_hour_are_left_out),
		fixture_test(
			an_hour_that_is_too_large_is_left_out_and_the_next_is_not),
		fixture_test(a_node_that_reports_too_often_has_no_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
