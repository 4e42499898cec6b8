#include "aggregator/query/history.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/http/body.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <errno.h>
#include <stdlib.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 'b' };

/* Wall time 1000 s is the agent's 100 s in all tests. */
static const double wall_offset_s = 900;

static const struct history_query_context kept = { .interval_us = 2000000,
	.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

static struct history *history_of(const char *from, const char *to,
	const char *step)
{
	struct history_query_params params = { from, to, step,
		"cpu.used_cores,memory.available_bytes" };
	struct history_query query;

	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	return history_new(&query);
}

static void add(struct history *history, const uint8_t *run_id, double at_s,
	double total_core_s)
{
	struct report r = sample_report(1, at_s);

	r.cpu.user_us = (uint64_t)(total_core_s * 1e6);
	history_add(history, run_id, (uint64_t)((at_s + wall_offset_s) * 1e6),
		&r);
	report_fini(&r);
}

/* The same after a reboot. */
static void add_of_boot(struct history *history, const char *boot_id,
	double at_s, double total_core_s)
{
	struct report r = sample_report(1, at_s);

	(void)snprintf(r.boot_id, sizeof(r.boot_id), "%s", boot_id);
	r.cpu.user_us = (uint64_t)(total_core_s * 1e6);
	history_add(history, run_b, (uint64_t)((at_s + wall_offset_s) * 1e6),
		&r);
	report_fini(&r);
}

static double json_value_at(const struct history *history, size_t row,
	size_t column)
{
	double values[HISTORY_QUERY_FIELDS_MAX];

	history_row(values, history, row);
	return values[column];
}

static void assert_value(const struct history *history, size_t row,
	double value)
{
	double is = json_value_at(history, row, 0);

	if (isnan(value) ? !isnan(is) : !(fabs(is - value) < 1e-6)) {
		fail_msg("row %zu is %g, not %g", row, is, value);
	}
}

static void a_row_has_the_rates_of_its_time(void **state)
{
	struct history *h = history_of("1000", "1030", "10");

	(void)state;
	for (int i = 0; i <= 15; i++) {
		/* 1 core for 10 s, then 3. */
		add(h, run_a, 100 + 2 * i, i <= 5 ? 2 * i : 10 + 6 * (i - 5));
	}
	assert_value(h, 0, 1);
	assert_value(h, 1, 3);
	assert_value(h, 2, 3);
	assert_true(fabs(json_value_at(h, 0, 1) - 600) < 1e-9);
	history_free(h);
}

/* 4 s at 1 core and 6 s at 2.5 of the first row's 10 s. */
static void an_interval_counts_for_each_row_it_overlaps(void **state)
{
	struct history *h = history_of("1000", "1020", "10");

	(void)state;
	add(h, run_a, 94, 0);
	add(h, run_a, 104, 10);
	add(h, run_a, 116, 40);
	assert_value(h, 0, (4 * 1.0 + 6 * 2.5) / 10);
	assert_value(h, 1, 2.5);
	history_free(h);
}

static void a_lost_report_lowers_the_resolution_only(void **state)
{
	struct history *all = history_of("1000", "1040", "10");
	struct history *some = history_of("1000", "1040", "10");

	(void)state;
	for (int i = 0; i <= 20; i++) {
		add(all, run_a, 100 + 2 * i, 3 * i);
		if (i != 7 && i != 8) {
			add(some, run_a, 100 + 2 * i, 3 * i);
		}
	}
	for (size_t row = 0; row < 4; row++) {
		assert_value(all, row, 1.5);
		assert_value(some, row, 1.5);
	}
	history_free(all);
	history_free(some);
}

static void does_not_fill_a_gap(void **state)
{
	struct history *h = history_of("1000", "1050", "10");

	(void)state;
	add(h, run_a, 100, 0);
	add(h, run_a, 110, 10);
	add(h, run_a, 140, 40); /* 30 s later, without a report in between */
	add(h, run_a, 150, 60);
	assert_value(h, 0, 1);
	assert_value(h, 1, NAN);
	assert_value(h, 2, NAN);
	assert_value(h, 3, NAN);
	assert_value(h, 4, 2);
	history_free(h);
}

static void there_is_a_gap_between_two_boots(void **state)
{
	struct history *h = history_of("1000", "1030", "10");

	(void)state;
	add(h, run_a, 100, 0);
	add(h, run_a, 110, 10);
	add_of_boot(h, "boot-2", 120, 20);
	add_of_boot(h, "boot-2", 130, 40);
	assert_value(h, 0, 1);
	assert_value(h, 1, NAN);
	assert_value(h, 2, 2);
	history_free(h);
}

/* Two agents of a rolling update: the second one delivers what it measured
 * before it took over, too. */
static void two_runs_of_one_boot_have_no_gap(void **state)
{
	struct history *h = history_of("1000", "1030", "10");

	(void)state;
	for (int s = 100; s <= 124; s += 2) {
		add(h, run_a, s, s - 100);
		if (s >= 106) {
			add(h, run_b, s + 1.5, s + 1.5 - 100);
		}
	}
	for (int s = 126; s <= 130; s += 2) {
		add(h, run_b, s + 1.5, s + 1.5 - 100);
	}
	for (size_t row = 0; row < 3; row++) {
		assert_value(h, row, 1);
	}
	history_free(h);
}

/* CPU time is counted in ticks of 10 ms. */
static void two_runs_close_to_each_other_have_no_rates(void **state)
{
	struct history_query_params params = { "1000", "1010", "10",
		"used_cores_max" };
	struct history_query query;
	struct history *h;

	(void)state;
	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	h = history_new(&query);
	add(h, run_a, 100, 0);
	add(h, run_a, 102, 2);
	add(h, run_b, 102.01, 2.02);
	add(h, run_b, 104.01, 4.02);
	assert_value(h, 0, 1);
	history_free(h);
}

static void ignores_reports_outside_the_range(void **state)
{
	struct history *h = history_of("1000", "1010", "10");

	(void)state;
	add(h, run_a, 80, 0);
	add(h, run_a, 90, 40);
	add(h, run_a, 100, 80);
	add(h, run_a, 114, 94);
	add(h, run_a, 124, 134);
	assert_value(h, 0, 1);
	history_free(h);
}

/* Intervals start and end with rows. */
static void a_maximum_is_that_of_its_row(void **state)
{
	struct history_query_params params = { "1000", "1030", "10",
		"used_cores_max" };
	struct history_query query;
	struct history *h;

	(void)state;
	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	h = history_new(&query);
	add(h, run_a, 100, 0);
	add(h, run_a, 110, 10);
	add(h, run_a, 120, 40);
	add(h, run_a, 130, 60);
	assert_value(h, 0, 1);
	assert_value(h, 1, 3);
	assert_value(h, 2, 2);
	history_free(h);
}

static void reads_a_margin_around_the_range(void **state)
{
	struct history *h = history_of("1000", "1010", "10");
	uint64_t from_ms, to_ms;

	(void)state;
	history_range_ms(&from_ms, &to_ms, history_query(h));
	assert_int_equal(from_ms, 940000);
	assert_int_equal(to_ms, 1070000);
	history_free(h);
}

static void writes_json_and_csv(void **state)
{
	struct history *h = history_of("1000.5", "1020.5", "10");
	scoped_buffer struct buffer json = BUFFER_MAX(10000);
	scoped_buffer struct buffer csv = BUFFER_MAX(10000);

	(void)state;
	add(h, run_a, 100.5, 0);
	add(h, run_a, 110.5, 15);
	assert_false(body_write_history(&json,
		&(struct history_text){ .history = h, .name = "n1" }));
	assert_string_equal(json.data,
		"{\"node\":\"n1\",\"step_s\":10,\"from\":1000.5,\"to\":1020.5,"
		"\"fields\":[\"cpu.used_cores\",\"memory.available_bytes\"],"
		"\"rows\":[[1000.5,1.5,600],[1010.5,null,null]]}\n");
	assert_false(body_write_history(&csv,
		&(struct history_text){ .history = h, .as_csv = true }));
	assert_string_equal(csv.data,
		"time,cpu.used_cores,memory.available_bytes\n"
		"1000.5,1.5,600\n"
		"1010.5,,\n");
	history_free(h);
}

/* The text of a repeated figure is reused. */
static void writes_repeated_and_changed_figures(void **state)
{
	static const double cores[] = { 0, 0, 1.5, 1.5, 1.5, 0.5, 0.5, 2.25, 2,
		2, 0 };
	struct history *h = history_of("1000", "1130", "10");
	scoped_buffer struct buffer csv = BUFFER_MAX(10000);
	double total = 0;

	(void)state;
	add(h, run_a, 100, 0);
	for (size_t i = 0; i < count_of(cores); i++) {
		total += 10 * cores[i];
		add(h, run_a, 110 + 10 * (double)i, total);
	}
	/* A gap of one row, then the same value. */
	add_of_boot(h, "boot-2", 220, 0);
	add_of_boot(h, "boot-2", 230, 15);
	assert_false(body_write_history(&csv,
		&(struct history_text){ .history = h, .as_csv = true }));
	assert_string_equal(csv.data,
		"time,cpu.used_cores,memory.available_bytes\n"
		"1000,0,600\n1010,0,600\n1020,1.5,600\n1030,1.5,600\n"
		"1040,1.5,600\n1050,0.5,600\n1060,0.5,600\n1070,2.25,600\n"
		"1080,2,600\n1090,2,600\n1100,0,600\n1110,,\n"
		"1120,1.5,600\n");
	history_free(h);
}

/* Two minutes of an hour, one of them half known. */
static void weights_rollups_by_the_time_they_cover(void **state)
{
	struct history_query_params params = { "1200", "1440", "120",
		"used_cores,used_cores_max,used_cores_p95" };
	struct rollup_row row = { .from_ms = 1200000, .covered_ms = 60000 };
	struct history_query query;
	struct history *h;

	(void)state;
	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	assert_int_equal(query.tier, STORE_1M);
	h = history_new(&query);
	row.figures[ROLLUP_cpu_used_cores] =
		(struct rollup_figure){ 1, 4, 2.5 };
	history_add_rollup(h, &row);
	row.from_ms += 60000;
	row.covered_ms = 20000;
	row.figures[ROLLUP_cpu_used_cores] = (struct rollup_figure){ 3, 3, 3 };
	history_add_rollup(h, &row);
	row.from_ms = 1440000;
	history_add_rollup(h, &row);
	row.from_ms = 1140000;
	history_add_rollup(h, &row);
	assert_value(h, 0, 1.5);
	assert_true(json_value_at(h, 0, 1) > 3.99);
	assert_true(json_value_at(h, 0, 2) > 2.99);
	assert_true(json_value_at(h, 0, 2) < 3.01);
	assert_value(h, 1, NAN);
	history_free(h);
}

static struct history *node_history(const char *to, const char *fields)
{
	struct history_query_params params = { "1000", to, "10", fields };
	struct history_query query;

	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	return history_new(&query);
}

/* A report of two pods, of which one had its turn, or none. */
static void add_turn(struct history *h, double at_s, size_t turn)
{
	struct report r = sample_report(1, at_s);
	struct vm_pod vms[2] = { sample_vm("p1", 1), sample_vm("p2", 2) };

	r.slow_every = 5;
	if (turn < 2) {
		vms[turn].working_set_bytes = 100 * (turn + 1);
	}
	sample_add_vms(&r, vms, 2);
	history_add(h, run_a, (uint64_t)((at_s + wall_offset_s) * 1e6), &r);
	report_fini(&r);
}

static void adds_up_memory_that_pods_report_in_turn(void **state)
{
	struct history *h = node_history("1050", "memory.working_set_bytes");

	(void)state;
	for (size_t i = 0; i <= 10; i++) {
		add_turn(h, 100 + 2 * (double)i, i % 5);
	}
	assert_value(h, 0, 300);
	assert_value(h, 1, 300);
	/* After a gap it is not known until each pod had its turn. */
	add_turn(h, 140, 2);
	add_turn(h, 142, 0);
	add_turn(h, 148, 2);
	assert_value(h, 4, NAN);
	add_turn(h, 150, 1);
	assert_value(h, 4, 300);
	history_free(h);
}

static struct history *vm_history(const char *to)
{
	struct history_query_params params = { "1000", to, "10",
		"used_cores,contention,memory_bytes,used_cores_max" };
	struct history_query_context context = kept;
	struct history_query query;

	context.is_vm = true;
	assert_int_equal(history_query_parse(&query, &params, &context, NULL),
		0);
	return history_new(&query);
}

/* A report of a node with one pod, or none; every fifth report has memory. */
static void add_vm(struct history *h, const uint8_t *run_id, const char *uid,
	double at_s, double used_core_s)
{
	struct report r = sample_report(1, at_s);
	struct vm_pod vm = sample_vm(uid == NULL ? "" : uid, 1);

	vm.cpu_usage_us = (uint64_t)(used_core_s * 1e6);
	vm.anon_shmem_bytes = (uint64_t)at_s % 10 == 0 ? 4096 : REPORT_UNKNOWN;
	sample_add_vms(&r, &vm, uid == NULL ? 0 : 1);
	history_add(h, run_id, (uint64_t)((at_s + wall_offset_s) * 1e6), &r);
	report_fini(&r);
}

/* From 100 s to 120 s on one node with 1 core, from 110 s to 130 s on another
 * with 2 cores. */
static void adds_up_the_pods_of_a_vm_that_migrates(void **state)
{
	struct history *h = vm_history("1040");

	(void)state;
	for (int s = 100; s <= 140; s += 2) {
		add_vm(h, run_a, s <= 120 ? "p1" : NULL, s, s - 100);
	}
	for (int s = 100; s <= 140; s += 2) {
		add_vm(h, run_b, s >= 110 && s <= 130 ? "p2" : NULL, s,
			2 * (s - 110));
	}
	assert_value(h, 0, 1);
	assert_value(h, 1, 3);
	assert_value(h, 2, 2);
	assert_value(h, 3, NAN);
	assert_true(json_value_at(h, 1, 3) < 2.01);
	assert_int_equal(json_value_at(h, 0, 2), 4096);
	assert_int_equal(json_value_at(h, 1, 2), 2 * 4096);
	assert_true(json_value_at(h, 1, 1) < 0.01);
	history_free(h);
}

/* The VM stops and starts on another node within a row: no sum. */
static void does_not_add_up_pods_one_after_the_other(void **state)
{
	struct history *h = vm_history("1010");

	(void)state;
	for (int s = 100; s <= 104; s += 2) {
		add_vm(h, run_a, "p1", s, s);
	}
	for (int s = 106; s <= 110; s += 2) {
		add_vm(h, run_b, "p2", s, 2 * s);
	}
	assert_value(h, 0, (4 * 1 + 4 * 2) / 8.0);
	history_free(h);
}

enum { PACKED = 60 };

/* Two minutes of a node with two VMs or none, packed. */
static void pack(struct buffer *out, size_t vm_count)
{
	struct chunk_report *reports = xcalloc(PACKED, sizeof(*reports));

	for (int i = 0; i < PACKED; i++) {
		struct report *r = &reports[i].report;
		struct vm_pod vms[] = { sample_vm("p1", 1),
			sample_vm("p2", 2) };
		uint64_t us = (uint64_t)i * (uint64_t)(i + 7) * 3000;

		*r = sample_report((uint64_t)i + 1, 100 + 2 * i);
		r->cgroup_mode = CGROUP_V2;
		r->cpu.online = 1;
		r->cpu.user_us = (uint64_t)i * 1600000;
		r->pressure.cpu.some_us = us / 4;
		r->pressure.memory.some_us = us / 5;
		r->pressure.memory.full_us = us / 6;
		r->pressure.io.some_us = us / 7;
		r->pressure.io.full_us = us / 8;
		r->memory.available_bytes += us;
		for (size_t v = 0; v < 2; v++) {
			vms[v].cpu_usage_us = us;
			vms[v].pressure.cpu.some_us = us / (v + 3);
			vms[v].pressure.cpu.full_us = us / 9;
			vms[v].throttled_us = us / 20;
			vms[v].working_set_bytes = us + 4096;
			vms[v].anon_shmem_bytes = us + 8192;
			vms[v].hugetlb_count = 1;
			vms[v].hugetlb[0] = (struct hugetlb_use){ 1 << 21, us };
		}
		sample_add_vms(r, vms, vm_count);
		reports[i].sample_ms = (uint64_t)(1000 + 2 * i) * 1000;
	}
	assert_int_equal(chunk_write(out, reports, PACKED, NULL), 0);
	for (int i = 0; i < PACKED; i++) {
		report_fini(&reports[i].report);
	}
	free(reports);
}

/* The history of one field, from these parts of each report. */
static struct history *history_of_packed(const struct buffer *bytes,
	const struct history_query *query, unsigned int parts)
{
	const struct chunk_selection want = { parts,
		query->is_vm ? "p2" : NULL };
	struct history *history = history_new(query);
	struct chunk_report got;
	struct chunk *chunk;

	assert_int_equal(
		chunk_open(&chunk, bytes->data, bytes->len, &want, NULL), 0);
	for (size_t i = 0; i < PACKED; i++) {
		assert_int_equal(chunk_get(&got, chunk, i, NULL), 0);
		history_add(history, got.run_id, got.sample_ms * 1000,
			&got.report);
	}
	chunk_close(chunk);
	return history;
}

/* Both are known and not 0. */
static void assert_same_value(double is, double want)
{
	if (!(fabs(want) > 0) || !(is <= want && is >= want)) {
		fail_msg("%g, not %g", is, want);
	}
}

static void assert_part_is_enough(const struct buffer *bytes, bool is_vm,
	const char *field)
{
	struct history_query_params params = { "1000", "1120", "10", field };
	struct history_query_context context = kept;
	struct history_query query;
	struct history *all, *some;

	context.is_vm = is_vm;
	assert_int_equal(history_query_parse(&query, &params, &context, NULL),
		0);
	assert_int_not_equal(history_parts(&query), SCHEMA_ALL);
	all = history_of_packed(bytes, &query, SCHEMA_ALL);
	some = history_of_packed(bytes, &query, history_parts(&query));
	for (size_t row = 0; row < history_query_row_count(&query); row++) {
		assert_same_value(json_value_at(some, row, 0),
			json_value_at(all, row, 0));
	}
	history_free(all);
	history_free(some);
}

static void each_figure_needs_only_its_own_parts(void **state)
{
	static const char *const of_node[] = {
#define X(group, field, ...) #group "." #field,
		ROLLUP_NODE_FIELDS(X)
#undef X
	};
	static const char *const of_vm[] = {
#define X(field, ...) #field,
		ROLLUP_POD_FIELDS(X)
#undef X
	};
	scoped_buffer struct buffer bytes = BUFFER_MAX(CHUNK_BYTES_MAX);
	scoped_buffer struct buffer without = BUFFER_MAX(CHUNK_BYTES_MAX);

	(void)state;
	pack(&bytes, 2);
	for (size_t i = 0; i < count_of(of_node); i++) {
		assert_part_is_enough(&bytes, false, of_node[i]);
	}
	for (size_t i = 0; i < count_of(of_vm); i++) {
		assert_part_is_enough(&bytes, true, of_vm[i]);
	}
	/* Without VMs, contention needs the node's figures. */
	pack(&without, 0);
	assert_part_is_enough(&without, false, "cpu.contention");
}

static void writes_a_long_history_in_parts(void **state)
{
	struct history *h = history_of("1000", "11000", "1");
	struct history_text text = { .history = h, .name = "n1" };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	size_t parts = 1;

	(void)state;
	while (body_write_history(&out, &text)) {
		assert_true(out.len < parts * ((128 << 10) + 100));
		parts++;
	}
	assert_true(parts >= 2);
	assert_non_null(strstr(out.data, "[10999,null,null]]}\n"));
	assert_false(out.overflowed);
	history_free(h);
}

/* ---- rows of elsewhere ---- */

static void rows_before_the_first_report_are_missing(void **state)
{
	struct history *h = history_of("1000", "1055", "10");

	(void)state;
	assert_int_equal(history_missing_rows(h), 5); /* of 5.5 */
	for (int i = 0; i <= 10; i++) {
		add(h, run_a, 120 + 2 * i, 2 * i);
	}
	assert_int_equal(history_missing_rows(h), 2);
	history_free(h);
}

static void a_row_that_is_known_in_part_is_missing_too(void **state)
{
	struct history *h = history_of("1000", "1050", "10");

	(void)state;
	for (int i = 0; i <= 10; i++) {
		add(h, run_a, 124 + 2 * i, 2 * i);
	}
	assert_int_equal(history_missing_rows(h), 3);
	history_free(h);
}

static void a_history_from_its_first_row_on_misses_nothing(void **state)
{
	struct history *h = history_of("1000", "1050", "10");

	(void)state;
	add(h, run_a, 98, 0);
	add(h, run_a, 110, 12);
	assert_int_equal(history_missing_rows(h), 0);
	history_free(h);
}

static void joined_rows_cover_the_first_ones_where_they_are_known(void **state)
{
	struct history *h = history_of("1000", "1040", "10");
	double *values = xcalloc((size_t)2 * 2, sizeof(*values));

	(void)state;
	for (int i = 0; i <= 15; i++) {
		add(h, run_a, 104 + 2 * i, 2 * i);
	}
	values[0] = 5;
	values[1] = NAN;
	values[2] = NAN;
	values[3] = 7;
	history_join(h, values, 2);
	assert_value(h, 0, 5);
	assert_float_equal(json_value_at(h, 0, 1), 600, 1e-9);
	assert_value(h, 1, 1);
	assert_float_equal(json_value_at(h, 1, 1), 7, 0);
	assert_value(h, 2, 1);
	history_free(h);
}

static void an_answer_names_its_sources(void **state)
{
	struct history *h = history_of("1000", "1020", "10");
	struct history_text text = { .history = h,
		.name = "n1",
		.sources = { .is_known = true,
			.from_us = 1000000000,
			.joined_us = 1010500000,
			.to_us = 1020000000 } };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);

	(void)state;
	(void)error_set(&text.sources.error, -EIO, "no \"answer\"");
	(void)body_write_history(&out, &text);
	assert_non_null(strstr(out.data,
		"\"sources\":[{\"source\":\"remote\",\"from\":1000,"
		"\"to\":1010.5,\"error\":\"no \\\"answer\\\"\"},"
		"{\"source\":\"local\",\"from\":1010.5,\"to\":1020}],"));
	history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_the_rates_of_its_time),
		cmocka_unit_test(an_interval_counts_for_each_row_it_overlaps),
		cmocka_unit_test(a_lost_report_lowers_the_resolution_only),
		cmocka_unit_test(does_not_fill_a_gap),
		cmocka_unit_test(there_is_a_gap_between_two_boots),
		cmocka_unit_test(two_runs_of_one_boot_have_no_gap),
		cmocka_unit_test(two_runs_close_to_each_other_have_no_rates),
		cmocka_unit_test(ignores_reports_outside_the_range),
		cmocka_unit_test(a_maximum_is_that_of_its_row),
		cmocka_unit_test(reads_a_margin_around_the_range),
		cmocka_unit_test(weights_rollups_by_the_time_they_cover),
		cmocka_unit_test(adds_up_memory_that_pods_report_in_turn),
		cmocka_unit_test(adds_up_the_pods_of_a_vm_that_migrates),
		cmocka_unit_test(does_not_add_up_pods_one_after_the_other),
		cmocka_unit_test(each_figure_needs_only_its_own_parts),
		cmocka_unit_test(writes_a_long_history_in_parts),
		cmocka_unit_test(writes_json_and_csv),
		cmocka_unit_test(writes_repeated_and_changed_figures),
		cmocka_unit_test(rows_before_the_first_report_are_missing),
		cmocka_unit_test(a_row_that_is_known_in_part_is_missing_too),
		cmocka_unit_test(
			a_history_from_its_first_row_on_misses_nothing),
		cmocka_unit_test(
			joined_rows_cover_the_first_ones_where_they_are_known),
		cmocka_unit_test(an_answer_names_its_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
