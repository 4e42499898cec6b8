#include "aggregator/store/computed_hours.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 'a' };
static const struct computed_hour hour = { 1, UINT64_C(497222) * 3600000 };

/* The reports are a second apart, and name `pods` pods each. */
static struct rollup *rollup_with(size_t reports, size_t pods)
{
	struct rollup *rollup = rollup_new(hour.hour_ms, true);

	for (uint64_t second = 0; second < reports; second++) {
		struct report r = steady_report(second + 1, (double)second, 1);

		r.vms = xcalloc(pods, sizeof(*r.vms));
		r.vm_count = pods;
		for (size_t i = 0; i < pods; i++) {
			char uid[REPORT_UID_MAX];

			(void)snprintf(uid, sizeof(uid), "pod-%zu", i);
			r.vms[i] = sample_vm(uid, 1);
		}
		rollup_add(rollup, run, hour.hour_ms + second * 1000, &r);
		report_fini(&r);
	}
	return rollup;
}

static void the_second_question_about_an_hour_gets_all_pods(void **state)
{
	struct computed_hours *hours = computed_hours_new();
	const struct computed_hour other_node = { 2, hour.hour_ms };
	const struct computed_hour other_hour = { 1, hour.hour_ms + 3600000 };
	struct rollup *rollup = rollup_with(2, 3);

	(void)state;
	assert_false(computed_hours_ask(hours, &hour, 1000));
	assert_false(computed_hours_ask(hours, &other_node, 1000));
	assert_false(computed_hours_ask(hours, &other_hour, 1000));
	assert_true(computed_hours_ask(hours, &hour, 2000));
	assert_null(computed_hours_find(hours, &hour, 2000));
	computed_hours_put(hours, &hour, rollup, 2000);
	assert_ptr_equal(computed_hours_find(hours, &hour, 3000), rollup);
	assert_null(computed_hours_find(hours, &other_node, 3000));
	computed_hours_free(hours);
}

static void a_rollup_is_kept_for_a_while_from_when_it_was_computed(void **state)
{
	struct computed_hours *hours = computed_hours_new();
	const uint64_t computed_us = COMPUTED_HOURS_KEPT_US;
	const uint64_t end_us = computed_us + COMPUTED_HOURS_KEPT_US;

	(void)state;
	assert_false(computed_hours_ask(hours, &hour, 0));
	assert_true(computed_hours_ask(hours, &hour, computed_us));
	computed_hours_put(hours, &hour, rollup_with(2, 1), computed_us);
	assert_non_null(computed_hours_find(hours, &hour, end_us));
	assert_null(computed_hours_find(hours, &hour, end_us + 1));
	assert_false(computed_hours_ask(hours, &hour, end_us + 1));
	computed_hours_free(hours);
}

static void the_oldest_hour_gives_way(void **state)
{
	struct computed_hours *hours = computed_hours_new();
	struct computed_hour other = hour;

	(void)state;
	computed_hours_put(hours, &hour, rollup_with(2, 1), 0);
	for (uint64_t i = 1; i < COMPUTED_HOURS_MAX; i++) {
		other.node++;
		assert_false(computed_hours_ask(hours, &other, i));
	}
	assert_non_null(computed_hours_find(hours, &hour, 50));
	other.node++;
	assert_false(computed_hours_ask(hours, &other, 50));
	assert_null(computed_hours_find(hours, &hour, 50));
	assert_true(computed_hours_ask(hours, &other, 50));
	computed_hours_free(hours);
}

static void an_hour_that_is_too_large_is_not_kept_and_not_tried_again(
	void **state)
{
	struct computed_hours *hours = computed_hours_new();
	struct rollup *rollup = rollup_with(2, 4000);

	(void)state;
	assert_true(rollup_bytes(rollup) > COMPUTED_HOURS_BYTES_MAX);
	assert_false(computed_hours_ask(hours, &hour, 0));
	assert_true(computed_hours_ask(hours, &hour, 1));
	computed_hours_put(hours, &hour, rollup, 1);
	assert_null(computed_hours_find(hours, &hour, 2));
	assert_false(computed_hours_ask(hours, &hour, 2));
	assert_false(computed_hours_ask(hours, &hour,
		1 + COMPUTED_HOURS_REFUSED_US));
	computed_hours_put(hours, &hour, NULL, 3);
	assert_false(computed_hours_ask(hours, &hour, 3));
	computed_hours_free(hours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_second_question_about_an_hour_gets_all_pods),
		cmocka_unit_test(
			a_rollup_is_kept_for_a_while_from_when_it_was_computed),
		cmocka_unit_test(the_oldest_hour_gives_way),
		cmocka_unit_test(
			an_hour_that_is_too_large_is_not_kept_and_not_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
