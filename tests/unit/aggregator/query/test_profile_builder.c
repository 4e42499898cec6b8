#include "aggregator/query/profile_builder.h"

#include "tests/support/cm.h"

#include <math.h>

static const uint64_t minute_ms = 60000;
static const uint64_t hour_ms = 3600000;
static const uint64_t day_ms = 86400000;
/* 2026-11-21T02:00:00Z: a whole hour. */
static const uint64_t now_ms = UINT64_C(1795226400000);

static void add(struct vm_profile *profile, uint64_t from_ms, uint32_t covered,
	double cores, double bytes)
{
	struct rollup_row row = { .from_ms = from_ms, .covered_ms = covered };

	row.figures[ROLLUP_VM_USED_CORES] =
		(struct rollup_figure){ cores, cores + 1, cores };
	row.figures[ROLLUP_VM_MEMORY_BYTES] =
		(struct rollup_figure){ bytes, bytes, bytes };
	vm_profile_add(profile, &row);
}

static void assert_near(double is, double wanted)
{
	if (!(fabs(is - wanted) <= 1e-6 * fmax(fabs(wanted), 1))) {
		fail_msg("%.9g is not %.9g", is, wanted);
	}
}

static struct vm_past past_of(struct vm_profile *profile)
{
	struct vm_past past;

	vm_profile_fill(&past, profile);
	vm_profile_free(profile);
	return past;
}

static void a_vm_that_was_never_seen_has_no_past(void **state)
{
	struct vm_past past = past_of(vm_profile_new(now_ms));

	(void)state;
#define X(field) assert_true(isnan(past.field));
	PROFILE_FIELDS(X)
#undef X
	assert_true(isnan(past.mean_cores_by_hour[0]));
}

static void an_hour_gives_its_figures(void **state)
{
	struct vm_profile *profile = vm_profile_new(now_ms);
	struct vm_past past;

	(void)state;
	for (uint64_t m = 0; m < 60; m++) {
		add(profile, now_ms - hour_ms + m * minute_ms, 60000,
			m < 30 ? 1 : 3, 4096);
	}
	past = past_of(profile);
	assert_near(past.covered_s, 3600);
	/* An hour is nearly all worth the same. */
	assert_true(past.seconds > 3500 && past.seconds < 3600);
	assert_true(fabs(past.mean_cores - 2) < 0.02);
	assert_true(fabs(past.stdev_cores - 1) < 0.01);
	assert_near(past.p95_cores, 3);
	assert_near(past.max_cores, 4);
	assert_near(past.mean_memory_bytes, 4096);
	assert_near(past.p95_memory_bytes, 4096);
	assert_near(past.max_memory_bytes, 4096);
	assert_near(past.mean_cores_by_hour[1], past.mean_cores);
	assert_true(isnan(past.mean_cores_by_hour[2]));
}

static void a_day_back_counts_half(void **state)
{
	struct vm_profile *profile = vm_profile_new(now_ms);
	struct vm_past past;

	(void)state;
	add(profile, now_ms - minute_ms, 60000, 1, NAN);
	add(profile, now_ms - minute_ms - day_ms, 60000, 4, NAN);
	past = past_of(profile);
	assert_near(past.mean_cores, (1 + 0.5 * 4) / 1.5);
	assert_near(past.mean_cores_by_hour[1], past.mean_cores);
	assert_near(past.covered_s, 120);
	assert_true(isnan(past.mean_memory_bytes));
}

static void time_counts_as_far_as_it_is_known(void **state)
{
	struct vm_profile *profile = vm_profile_new(now_ms);
	struct vm_past past;

	(void)state;
	add(profile, now_ms - hour_ms, 60000, 1, NAN);
	add(profile, now_ms - hour_ms + minute_ms, 15000, 6, NAN);
	past = past_of(profile);
	assert_true(fabs(past.mean_cores - 2) < 0.01);
	assert_near(past.covered_s, 75);
}

static void two_pods_at_once_add_up(void **state)
{
	struct vm_profile *profile = vm_profile_new(now_ms);
	struct vm_past past;

	(void)state;
	add(profile, now_ms - minute_ms, 60000, 1, 100);
	add(profile, now_ms - minute_ms, 60000, 2, 100);
	past = past_of(profile);
	assert_near(past.mean_cores, 3);
	assert_near(past.mean_memory_bytes, 200);
	assert_near(past.covered_s, 60);
}

static void a_week_is_enough(void **state)
{
	struct vm_profile *profile = vm_profile_new(now_ms);
	struct vm_past past;

	(void)state;
	assert_int_equal(vm_profile_from_ms(profile),
		now_ms + minute_ms - VM_PROFILE_DAYS * day_ms);
	add(profile, now_ms - 8 * day_ms, 60000, 9, NAN);
	add(profile, now_ms + 2 * minute_ms, 60000, 9, NAN);
	add(profile, now_ms, 30000, 1, NAN);
	past = past_of(profile);
	assert_near(past.mean_cores, 1);
	assert_near(past.max_cores, 2);
	assert_near(past.covered_s, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_that_was_never_seen_has_no_past),
		cmocka_unit_test(an_hour_gives_its_figures),
		cmocka_unit_test(a_day_back_counts_half),
		cmocka_unit_test(time_counts_as_far_as_it_is_known),
		cmocka_unit_test(two_pods_at_once_add_up),
		cmocka_unit_test(a_week_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
