#include "aggregator/codec/rollup_pack.h"

#include "tests/unit/aggregator/sample.h"

#include <errno.h>

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t hour_ms = UINT64_C(497222) * 3600000;

/* Ten minutes of a node with pods pod-0 to pod-4. */
static struct rollup *sample_rollup(void)
{
	struct rollup *rollup = rollup_new(hour_ms, true);

	for (size_t i = 0; i <= 300; i++) {
		struct report r = steady_report(i + 1, 2 * (double)i, 1.5);
		struct vm_pod vms[5];

		for (size_t v = 0; v < 5; v++) {
			char uid[REPORT_UID_MAX];

			(void)snprintf(uid, sizeof(uid), "pod-%zu", v);
			vms[v] = sample_vm(uid, v);
			vms[v].cpu_usage_us = i * (v + 1) * 200000;
		}
		sample_add_vms(&r, vms, 5);
		rollup_add(rollup, run, hour_ms + 2000 * i, &r);
		report_fini(&r);
	}
	return rollup;
}

struct got {
	size_t series, rows;
	double cores; /* of the last row */
};

static void on_series(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count)
{
	struct got *got = owner;

	(void)pod_uid;
	got->series++;
	got->rows += count;
	got->cores = rows[count - 1].figures[ROLLUP_VM_used_cores].mean;
}

static void reads_back_one_series_or_all(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(1 << 20);
	struct rollup *rollup = sample_rollup();
	struct got all = { 0 }, one = { 0 };

	(void)state;
	assert_int_equal(rollup_pack(&bytes, rollup, false, NULL), 0);
	assert_int_equal(rollup_unpack(bytes.data, bytes.len, NULL, on_series,
				 &all, NULL),
		0);
	assert_int_equal(all.series, 6);
	assert_int_equal(all.rows, 60);
	assert_int_equal(rollup_unpack(bytes.data, bytes.len, "pod-3",
				 on_series, &one, NULL),
		0);
	assert_int_equal(one.series, 1);
	assert_int_equal(one.rows, 10);
	assert_true(fabs(one.cores - 0.4) < 0.0006);
	rollup_free(rollup);
}

static void refuses_a_rollup_that_does_not_fit(void **state)
{
	scoped_buffer struct buffer whole = BUFFER_MAX(1 << 20);
	struct rollup *rollup = sample_rollup();
	struct error err;

	(void)state;
	assert_int_equal(rollup_pack(&whole, rollup, false, NULL), 0);
	for (size_t most = 1; most < whole.len; most += 7) {
		scoped_buffer struct buffer bytes = BUFFER_MAX(most);

		assert_int_equal(rollup_pack(&bytes, rollup, false, &err),
			-EFBIG);
		assert_string_equal(err.text, "the rollup is too large");
	}
	rollup_free(rollup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_one_series_or_all),
		cmocka_unit_test(refuses_a_rollup_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
