#include "aggregator/query/export.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

static const uint64_t minute_ms = 60000;

/* Steps of a minute from 06:00 of the first day. */
static struct export *begin(size_t steps)
{
	const struct export_span span = { 360 * minute_ms, minute_ms, steps };

	return export_new(&span);
}

static struct rollup_row minute(size_t step, uint32_t covered_ms)
{
	struct rollup_row row = { .from_ms = (360 + step) * minute_ms,
		.covered_ms = covered_ms };

	for (size_t i = 0; i < ROLLUP_FIELDS; i++) {
		row.figures[i] = (struct rollup_figure){ NAN, NAN, NAN };
	}
	return row;
}

static void add_on(struct export *export, const char *node, const char *uid,
	size_t step, double cores, uint32_t covered_ms)
{
	struct rollup_row row = minute(step, covered_ms);

	row.figures[ROLLUP_VM_used_cores].mean = cores;
	assert_int_equal(export_add(export, node, uid, &row, NULL), 0);
}

static void add(struct export *export, const char *uid, size_t step,
	double cores, uint32_t covered_ms)
{
	add_on(export, "node-a", uid, step, cores, covered_ms);
}

/* A pod of the VM n/web. */
static void identify(struct export *export, const char *uid, const char *node)
{
	export_identify(export, uid,
		&(struct export_identity){ "n", "web", node });
}

static void assert_written(struct export *export, const char *nodes,
	const char *vms, size_t steps)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 16);
	scoped_free char *expected = xasprintf(
		"{\"from\":21600,\"step_s\":60,\"steps\":%zu,"
		"\"nodes\":[%s],\"vms\":[%s]}\n",
		steps, nodes, vms);

	export_write(&text, export);
	assert_string_equal(text.data, expected);
	export_free(export);
}

#define STAY(who, uids, arrive, leave, used)                                   \
	"{" who "\"pod_uids\":[" uids "],\"arrive_step\":" arrive              \
	",\"leave_step\":" leave ",\"used_cores\":[" used "]}"
#define WEB "\"namespace\":\"n\",\"name\":\"web\","

static void a_node_has_its_largest_figures(void **state)
{
	struct export *export = begin(3);
	struct rollup_row row = minute(0, 60000);

	(void)state;
	row.figures[ROLLUP_cpu_cores].max = 8;
	row.figures[ROLLUP_memory_total_bytes].max = 4096;
	assert_int_equal(export_add(export, "b", "", &row, NULL), 0);
	row = minute(1, 60000);
	row.figures[ROLLUP_cpu_cores].max = 6;
	assert_int_equal(export_add(export, "b", "", &row, NULL), 0);
	row = minute(2, 60000);
	assert_int_equal(export_add(export, "a", "", &row, NULL), 0);
	assert_written(export,
		"{\"name\":\"a\"},"
		"{\"name\":\"b\",\"cpu_cores\":8,\"memory_bytes\":4096}",
		"", 3);
}

static void a_gap_is_null_and_a_stop_ends_a_lifetime(void **state)
{
	struct export *export = begin(9);

	(void)state;
	identify(export, "u1", "node-a");
	identify(export, "u2", "node-a");
	add(export, "u1", 1, 0.5, 60000);
	/* No report for a minute, and then only memory. */
	add(export, "u1", 3, NAN, 60000);
	add(export, "u1", 4, 1.5, 30000);
	add(export, "u2", 7, 2, 60000);
	assert_written(export, "",
		STAY(WEB, "\"u1\"", "1", "5", "0.5,null,null,1.5") "," STAY(WEB,
			"\"u2\"", "7", "8", "2"),
		9);
}

static void adds_up_the_pods_of_a_vm_that_migrates(void **state)
{
	struct export *export = begin(3);

	(void)state;
	identify(export, "u1", "node-a");
	identify(export, "u2", "node-b");
	add(export, "u1", 0, 1, 60000);
	/* Both the whole minute; then one after the other, half of it each. */
	add(export, "u1", 1, 1, 60000);
	add_on(export, "node-b", "u2", 1, 0.25, 60000);
	add(export, "u1", 2, 1, 30000);
	add_on(export, "node-b", "u2", 2, 3, 30000);
	assert_written(export, "",
		STAY(WEB, "\"u1\",\"u2\"", "0", "3", "1,1.25,2"), 3);
}

static void an_unidentified_pod_is_a_vm_of_its_own(void **state)
{
	struct export *export = begin(2);

	(void)state;
	add(export, "u9", 1, 1, 60000);
	add(export, "u8", 1, 2, 60000);
	assert_written(export, "",
		STAY("", "\"u8\"", "1", "2", "2") "," STAY("", "\"u9\"", "1",
			"2", "1"),
		2);
}

static void another_nodes_claim_to_a_pod_adds_nothing(void **state)
{
	struct export *export = begin(2);

	(void)state;
	identify(export, "u1", "node-a");
	add_on(export, "node-b", "u1", 0, 7, 60000);
	add(export, "u1", 0, 1, 60000);
	add_on(export, "node-b", "u1", 1, 7, 60000);
	assert_written(export, "", STAY(WEB, "\"u1\"", "0", "1", "1"), 2);
}

/* Not even a uid that looks like the VM's name. */
static void an_unidentified_pod_adds_to_no_other_nodes_vm(void **state)
{
	struct export *export = begin(2);

	(void)state;
	identify(export, "u1", "node-a");
	add(export, "u1", 0, 1, 60000);
	add_on(export, "node-b", "n/web", 0, 2, 60000);
	add_on(export, "node-b", "u2", 0, 4, 60000);
	add(export, "u2", 0, 3, 60000);
	assert_written(export, "",
		STAY("", "\"u2\"", "0", "1", "3") "," STAY("", "\"n/web\"", "0",
			"1", "2") "," STAY("", "\"u2\"", "0", "1",
			"4") "," STAY(WEB, "\"u1\"", "0", "1", "1"),
		2);
}

static void ignores_minutes_outside_the_span(void **state)
{
	struct export *export = begin(2);
	struct rollup_row before = minute(0, 60000);

	(void)state;
	before.from_ms -= minute_ms;
	assert_int_equal(export_add(export, "a", "u", &before, NULL), 0);
	add(export, "u", 2, 1, 60000);
	assert_written(export, "", "", 2);
}

static void rejects_too_many_figures_before_allocating_them(void **state)
{
	const struct export_span span = { 0, minute_ms, EXPORT_STEPS_MAX };
	struct export *export = export_new(&span);
	struct rollup_row row = minute(0, 60000);
	struct error err = { 0 };
	size_t vms = 0;
	int r = 0;

	(void)state;
	while (r == 0) {
		scoped_free char *uid = xasprintf("u%zu", vms++);

		r = export_add(export, "a", uid, &row, &err);
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(vms - 1, EXPORT_FIGURES_MAX / EXPORT_STEPS_MAX);
	assert_non_null(strstr(err.text, "a longer step"));
	export_free(export);
}

static void counts_more_for_a_vm_than_its_steps(void **state)
{
	const struct export_span span = { 0, minute_ms, 1 };
	struct export *export = export_new(&span);
	struct rollup_row row = minute(0, 60000);
	size_t vms = 0;
	int r = 0;

	(void)state;
	row.from_ms = 0;
	while (r == 0 && vms <= 1000000) {
		scoped_free char *uid = xasprintf("u%zu", vms++);

		r = export_add(export, "a", uid, &row, NULL);
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(vms - 1, EXPORT_FIGURES_MAX / EXPORT_VM_FIGURES);
	export_free(export);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_has_its_largest_figures),
		cmocka_unit_test(a_gap_is_null_and_a_stop_ends_a_lifetime),
		cmocka_unit_test(adds_up_the_pods_of_a_vm_that_migrates),
		cmocka_unit_test(an_unidentified_pod_is_a_vm_of_its_own),
		cmocka_unit_test(another_nodes_claim_to_a_pod_adds_nothing),
		cmocka_unit_test(an_unidentified_pod_adds_to_no_other_nodes_vm),
		cmocka_unit_test(ignores_minutes_outside_the_span),
		cmocka_unit_test(counts_more_for_a_vm_than_its_steps),
		cmocka_unit_test(
			rejects_too_many_figures_before_allocating_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
