#include "aggregator/query/profile_builder.h"

#include "tests/support/cm.h"

#include <math.h>

static const uint64_t minute_ms = 60000;
static const uint64_t hour_ms = 3600000;
static const uint64_t day_ms = 86400000;
/* 2026-11-21T02:00:00Z: a whole hour. */
static const uint64_t now_ms = UINT64_C(1795226400000);

static void add(struct profile_builder *builder, uint64_t from_ms,
	uint32_t covered, double cores, double bytes)
{
	struct rollup_row row = { .from_ms = from_ms, .covered_ms = covered };

	row.figures[ROLLUP_VM_used_cores] =
		(struct rollup_figure){ cores, cores + 1, cores };
	row.figures[ROLLUP_VM_memory_bytes] =
		(struct rollup_figure){ bytes, bytes, bytes };
	profile_builder_add(builder, &row);
}

static void assert_near(double is, double wanted)
{
	if (!(fabs(is - wanted) <= 1e-6 * fmax(fabs(wanted), 1))) {
		fail_msg("%.9g is not %.9g", is, wanted);
	}
}

static struct vm_profile profile_of(struct profile_builder *builder)
{
	struct vm_profile profile;

	profile_builder_fill(&profile, builder);
	profile_builder_free(builder);
	return profile;
}

static void a_vm_without_minutes_has_no_figures(void **state)
{
	struct vm_profile profile = profile_of(profile_builder_new(now_ms));

	(void)state;
#define X(field) assert_true(isnan(profile.field));
	PROFILE_FIELDS(X)
#undef X
	assert_true(isnan(profile.mean_cores_by_hour[0]));
}

static void computes_the_figures_of_an_hour(void **state)
{
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct vm_profile profile;

	(void)state;
	for (uint64_t m = 0; m < 60; m++) {
		add(builder, now_ms - hour_ms + m * minute_ms, 60000,
			m < 30 ? 1 : 3, 4096);
	}
	profile = profile_of(builder);
	assert_near(profile.covered_s, 3600);
	/* The weights of one hour are nearly equal. */
	assert_true(profile.seconds > 3500 && profile.seconds < 3600);
	assert_true(fabs(profile.mean_cores - 2) < 0.02);
	assert_true(fabs(profile.stdev_cores - 1) < 0.01);
	assert_near(profile.p95_cores, 3);
	assert_near(profile.max_cores, 4);
	assert_near(profile.mean_memory_bytes, 4096);
	assert_near(profile.p95_memory_bytes, 4096);
	assert_near(profile.max_memory_bytes, 4096);
	assert_near(profile.mean_cores_by_hour[1], profile.mean_cores);
	assert_true(isnan(profile.mean_cores_by_hour[2]));
}

static void a_day_of_age_halves_the_weight(void **state)
{
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct vm_profile profile;

	(void)state;
	add(builder, now_ms - minute_ms, 60000, 1, NAN);
	add(builder, now_ms - minute_ms - day_ms, 60000, 4, NAN);
	profile = profile_of(builder);
	assert_near(profile.mean_cores, (1 + 0.5 * 4) / 1.5);
	assert_near(profile.mean_cores_by_hour[1], profile.mean_cores);
	assert_near(profile.covered_s, 120);
	assert_true(isnan(profile.mean_memory_bytes));
}

static void counts_the_known_time_only(void **state)
{
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct vm_profile profile;

	(void)state;
	add(builder, now_ms - hour_ms, 60000, 1, NAN);
	add(builder, now_ms - hour_ms + minute_ms, 15000, 6, NAN);
	profile = profile_of(builder);
	assert_true(fabs(profile.mean_cores - 2) < 0.01);
	assert_near(profile.covered_s, 75);
}

static void adds_up_two_pods_at_the_same_time(void **state)
{
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct vm_profile profile;

	(void)state;
	add(builder, now_ms - minute_ms, 60000, 1, 100);
	add(builder, now_ms - minute_ms, 60000, 2, 100);
	profile = profile_of(builder);
	assert_near(profile.mean_cores, 3);
	assert_near(profile.mean_memory_bytes, 200);
	assert_near(profile.covered_s, 60);
}

static void ignores_minutes_older_than_a_week(void **state)
{
	struct profile_builder *builder = profile_builder_new(now_ms);
	struct vm_profile profile;

	(void)state;
	assert_int_equal(profile_builder_from_ms(builder),
		now_ms + minute_ms - PROFILE_BUILDER_DAYS * day_ms);
	add(builder, now_ms - 8 * day_ms, 60000, 9, NAN);
	add(builder, now_ms + 2 * minute_ms, 60000, 9, NAN);
	add(builder, now_ms, 30000, 1, NAN);
	profile = profile_of(builder);
	assert_near(profile.mean_cores, 1);
	assert_near(profile.max_cores, 2);
	assert_near(profile.covered_s, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_without_minutes_has_no_figures),
		cmocka_unit_test(computes_the_figures_of_an_hour),
		cmocka_unit_test(a_day_of_age_halves_the_weight),
		cmocka_unit_test(counts_the_known_time_only),
		cmocka_unit_test(adds_up_two_pods_at_the_same_time),
		cmocka_unit_test(ignores_minutes_older_than_a_week),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
