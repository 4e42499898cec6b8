#include "aggregator/series/rollup.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t hour_ms = UINT64_C(497222) * 3600000;

/* A report, at_ms after the beginning of the hour, of the pods first to
 * first + count - 1. */
static void add(struct rollup *rollup, uint64_t at_ms, size_t first,
	size_t count)
{
	struct report r = steady_report(at_ms + 1, (double)at_ms / 1e3, 1);

	r.vms = xcalloc(count, sizeof(*r.vms));
	r.vm_count = count;
	for (size_t i = 0; i < count; i++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "pod-%zu", first + i);
		r.vms[i] = sample_vm(uid, 1);
		r.vms[i].cpu_usage_us = at_ms * 500;
	}
	rollup_add(rollup, run, hour_ms + at_ms, &r);
	report_fini(&r);
}

static void pods_above_the_limit_are_left_out_and_counted(void **state)
{
	struct rollup *rollup = rollup_new(hour_ms, true);
	struct rollup_row rows[ROLLUP_ROWS];

	(void)state;
	add(rollup, 0, 0, 1);
	for (size_t i = 0; i < 10; i++) {
		add(rollup, 2000 + 2000 * i, i * 1000, 1000);
	}
	assert_int_equal(rollup_series_count(rollup), 1 + ROLLUP_PODS_MAX);
	assert_int_equal(rollup_left_out(rollup), 10000 - ROLLUP_PODS_MAX);
	assert_string_equal(rollup_series_uid(rollup, 1), "pod-0");
	assert_string_equal(rollup_series_uid(rollup, ROLLUP_PODS_MAX),
		"pod-4095");
	assert_int_equal(rollup_rows(rows, rollup, 0, true), 1);
	assert_int_equal(rows[0].covered_ms, 20000);
	assert_false(rollup_is_too_large(rollup));
	rollup_free(rollup);
}

/* Samples of the node and of all pods. */
static size_t samples_of(const struct rollup *rollup)
{
	struct rollup_row rows[ROLLUP_ROWS];
	size_t samples = 0;

	for (size_t s = 0; s < rollup_series_count(rollup); s++) {
		if (rollup_rows(rows, rollup, s, true) == 1) {
			samples += rows[0].covered_ms / 1000;
		}
	}
	return samples;
}

static void the_pods_named_last_give_way_to_the_samples_of_the_others(
	void **state)
{
	enum { PODS = 1000, SECONDS = 2500 };
	struct rollup *rollup = rollup_new(hour_ms, true);
	size_t pods;

	(void)state;
	for (size_t i = 0; i <= SECONDS; i++) {
		add(rollup, 1000 * i, 0, PODS);
	}
	pods = rollup_series_count(rollup) - 1;
	assert_in_range(pods, PODS / 2, PODS - 1);
	assert_in_range(pods * SECONDS, 1, ROLLUP_SAMPLES_MAX);
	assert_int_equal(samples_of(rollup), (pods + 1) * SECONDS);
	assert_int_equal(rollup_left_out(rollup), (PODS - pods) * SECONDS);
	rollup_free(rollup);
}

static void a_node_that_reports_too_often_has_no_rollup(void **state)
{
	struct rollup *rollup = rollup_new(hour_ms, true);

	(void)state;
	for (size_t i = 0; i <= ROLLUP_SERIES_SAMPLES_MAX + 100; i++) {
		add(rollup, 10 * i, 0, 0);
	}
	assert_true(rollup_is_too_large(rollup));
	rollup_free(rollup);
}

static void a_report_counts_once_for_a_pod(void **state)
{
	struct rollup *rollup = rollup_new(hour_ms, true);
	struct rollup_row rows[ROLLUP_ROWS];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct vm_pod vms[] = { sample_vm("pod-1", 1),
			sample_vm("pod-1", 2) };
		struct report r = steady_report(i + 1, 2 * (double)i, 1);

		sample_add_vms(&r, vms, 2);
		rollup_add(rollup, run, hour_ms + 2000 * i, &r);
		report_fini(&r);
	}
	assert_int_equal(rollup_series_count(rollup), 2);
	assert_int_equal(rollup_rows(rows, rollup, 1, true), 1);
	assert_int_equal(rows[0].covered_ms, 4000);
	rollup_free(rollup);
}

static void a_rollup_of_a_node_alone_holds_no_pods(void **state)
{
	struct rollup *rollup = rollup_new(hour_ms, false);

	(void)state;
	add(rollup, 0, 0, 10);
	add(rollup, 2000, 0, 10);
	assert_int_equal(rollup_series_count(rollup), 1);
	assert_int_equal(rollup_left_out(rollup), 0);
	rollup_free(rollup);
}

/* Adds five pods, of which this one has its memory. */
static void add_five_vms(struct report *r, size_t with_memory)
{
	struct vm_pod vms[5];

	r->slow_every = 5;
	for (size_t p = 0; p < 5; p++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "pod-%zu", p);
		vms[p] = sample_vm(uid, 1);
		if (p == with_memory) {
			vms[p].working_set_bytes = 100;
			vms[p].anon_shmem_bytes = 10;
		}
	}
	sample_add_vms(r, vms, 5);
}

/* Each report has the memory of one of five pods. */
static void memory_that_pods_report_in_turn_is_known_all_the_time(void **state)
{
	struct rollup *rollup = rollup_new(hour_ms, true);
	struct rollup_row rows[ROLLUP_ROWS];

	(void)state;
	for (size_t i = 0; i <= 10; i++) {
		struct report r = steady_report(i + 1, 2 * (double)i, 1);

		add_five_vms(&r, i % 5);
		rollup_add(rollup, run, hour_ms + 2000 * i, &r);
		report_fini(&r);
	}
	assert_int_equal(rollup_rows(rows, rollup, 0, true), 1);
	assert_float_equal(
		rows[0].figures[ROLLUP_memory_working_set_bytes].mean, 500,
		1e-9);
	assert_int_equal(rollup_rows(rows, rollup, 1, true), 1);
	assert_float_equal(rows[0].figures[ROLLUP_VM_memory_bytes].mean, 10,
		1e-9);
	rollup_free(rollup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_above_the_limit_are_left_out_and_counted),
		cmocka_unit_test(
			the_pods_named_last_give_way_to_the_samples_of_the_others),
		cmocka_unit_test(a_node_that_reports_too_often_has_no_rollup),
		cmocka_unit_test(a_report_counts_once_for_a_pod),
		cmocka_unit_test(a_rollup_of_a_node_alone_holds_no_pods),
		cmocka_unit_test(
			memory_that_pods_report_in_turn_is_known_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
