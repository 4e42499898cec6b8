#include "aggregator/query/history_query.h"

#include "aggregator/query/history.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t second = 1000000;
#define now UINT64_C(1795226696563199)

#define DAY_US UINT64_C(86400000000)

static const struct history_query_context context = { .now_us = now,
	.interval_us = 2000000,
	.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

static void parses_times(void **state)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "0", 0 },
		{ "1795226696", UINT64_C(1795226696000000) },
		{ "1795226696.5", UINT64_C(1795226696500000) },
		{ "1795226696.1234567", UINT64_C(1795226696123456) },
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-21T02:04:56Z", UINT64_C(1795226696000000) },
		{ "2026-11-21t02:04:56.25z", UINT64_C(1795226696250000) },
		{ "2026-11-21 03:04:56+01:00", UINT64_C(1795226696000000) },
		{ "2026-11-21T03:04:56 01:00", UINT64_C(1795226696000000) },
		{ "2026-11-20T21:34:56-04:30", UINT64_C(1795226696000000) },
		{ "2024-02-29T00:00:00Z", UINT64_C(1709164800000000) },
		{ "2016-12-31T23:59:60Z", UINT64_C(1483228800000000) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t us = 1;

		assert_int_equal(
			history_query_parse_time(&us, "t", cases[i].text, NULL),
			0);
		assert_int_equal(us, cases[i].us);
	}
}

static void assert_not_a_time(const char *text)
{
	struct error err = { 0 };
	uint64_t us = 7;

	if (history_query_parse_time(&us, "t", text, &err) != -EINVAL) {
		fail_msg("'%s' was accepted", text);
	}
	assert_int_equal(us, 7);
	assert_true(err.text[0] != '\0');
}

static void rejects_what_is_not_a_time(void **state)
{
	static const char *const texts[] = { "", " ", "-1", "+1", "1.", ".5",
		"1e9", "0x10", "nan", "1 ", "99999999999999999999",
		"253402300800", "2026-11-21", "2026-11-21T02:04:56",
		"2026-13-21T02:04:56Z", "2026-00-21T02:04:56Z",
		"2026-02-30T02:04:56Z", "2026-02-30T00:00:00Z",
		"2025-02-29T12:00:00Z", "2026-11-21T24:04:56Z",
		"2026-11-21T02:60:56Z", "2026-11-21T02:04:61Z",
		"2026-11-21T02:04:56.Z", "2026-11-21T02:04:56+1:00",
		"2026-11-21T02:04:56+24:00", "2026-11-21T02:04:56Zz",
		"1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_not_a_time(texts[i]);
	}
}

static struct history_query parse(const struct history_query_params *params)
{
	struct history_query query = { 0 };
	struct error err = { 0 };

	if (history_query_parse(&query, params, &context, &err) < 0) {
		fail_msg("%s", err.text);
	}
	return query;
}

static void fills_in_defaults(void **state)
{
	struct history_query q = parse(&(struct history_query_params){ 0 });

	(void)state;
	assert_int_equal(q.to_us, now);
	assert_int_equal(q.from_us, now - 3600 * second);
	assert_int_equal(q.step_us, 5 * second);
	assert_int_equal(history_query_row_count(&q), 720);
	assert_true(q.field_count > 3);
	assert_string_equal(q.fields[0].name, "cpu.used_cores");
}

static void the_default_step_is_at_least_the_interval(void **state)
{
	struct history_query_params params = { .from = "1795226600",
		.to = "1795226660" };
	struct history_query q = parse(&params);

	(void)state;
	assert_int_equal(q.step_us, 2 * second);
	assert_int_equal(history_query_row_count(&q), 30);
}

static void the_default_step_limits_the_rows(void **state)
{
	static const char *const froms[] = { "1795226600", "1795220000",
		"1795000000", "1790000000", "0" };

	(void)state;
	for (size_t i = 0; i < sizeof(froms) / sizeof(froms[0]); i++) {
		struct history_query q = parse(
			&(struct history_query_params){ .from = froms[i] });

		assert_in_range(history_query_row_count(&q), 1,
			HISTORY_QUERY_ROWS_DEFAULT + 1);
	}
}

/* Rows then begin at whole minutes, hours and days. */
static void the_default_step_divides_a_minute_an_hour_or_a_day(void **state)
{
	static const uint64_t wholes[] = { 60 * second, 3600 * second,
		86400 * second };
	uint64_t last = 0;
	size_t count = 0;

	(void)state;
	for (uint64_t span = 60; span <= UINT64_C(1) << 30; span += span / 8) {
		scoped_free char *from =
			xasprintf("%" PRIu64, UINT64_C(1795226600) - span);
		struct history_query q =
			parse(&(struct history_query_params){ .from = from,
				.to = "1795226600" });
		size_t i = 0;

		while (i < 2 && q.step_us > wholes[i]) {
			i++;
		}
		assert_int_equal(q.step_us > wholes[2] ? q.step_us % wholes[2]
						       : wholes[i] % q.step_us,
			0);
		assert_true(q.step_us >= last);
		count += q.step_us > last;
		last = q.step_us;
	}
	assert_true(count > 15);
}

static void parses_steps(void **state)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "30", 30000000 },
		{ "1.5", 1500000 },
		{ "30s", 30000000 },
		{ "5m", 300000000 },
		{ "1h", UINT64_C(3600000000) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history_query q = parse(&(struct history_query_params){
			.step = cases[i].text });

		assert_int_equal(q.step_us, cases[i].us);
	}
}

static void finds_fields_with_and_without_group(void **state)
{
	struct history_query q = parse(&(struct history_query_params){
		.fields = "used_cores,memory.pressure_some,total_bytes" });

	(void)state;
	assert_int_equal(q.field_count, 3);
	assert_string_equal(q.fields[0].name, "cpu.used_cores");
	assert_string_equal(q.fields[1].name, "memory.pressure_some");
	assert_int_equal(q.fields[1].figure, ROLLUP_memory_pressure_some);
	assert_string_equal(q.fields[2].name, "memory.total_bytes");
}

static void assert_refused(const struct history_query_params *params,
	const char *reason)
{
	struct history_query query = { .step_us = 9 };
	struct error err = { 0 };

	assert_int_equal(history_query_parse(&query, params, &context, &err),
		-EINVAL);
	if (strstr(err.text, reason) == NULL) {
		fail_msg("'%s' lacks '%s'", err.text, reason);
	}
	assert_int_equal(query.step_us, 9);
}

static void rejects_bad_parameters_with_a_reason(void **state)
{
	static const struct {
		struct history_query_params params;
		const char *reason; /* part of it */
	} cases[] = {
		{ { .from = "x" }, "from: 'x' is neither" },
		{ { .to = "" }, "to: '' is neither" },
		{ { .from = "10", .to = "10" }, "from is not before to" },
		{ { .from = "1795226697" }, "from is not before to" },
		{ { .step = "0" }, "step is not between" },
		{ { .step = "100ms" }, "step is not between" },
		{ { .step = "soon" }, "step: 'soon' is not a duration" },
		{ { .step = "" }, "step: '' is not a duration" },
		{ { .from = "0", .step = "1" }, "at most 11000" },
		{ { .fields = "" }, "no field ''" },
		{ { .fields = "used_cores," }, "no field ''" },
		{ { .fields = "cpu.nope" }, "no field 'cpu.nope'" },
		{ { .fields = "pressure_full" }, "more than one group" },
		{ { .fields = "cpu.used_cores_5m" }, "has no history" },
		{ { .fields = "p95_cores_1d" }, "has no history" },
		{ { .fields = "cores,cores,cores,cores,cores,cores,cores,"
			      "cores,cores,cores,cores,cores,cores,cores,"
			      "cores,cores,cores,cores,cores,cores,cores,"
			      "cores,cores,cores,cores,cores,cores,cores,"
			      "cores,cores,cores,cores,cores" },
			"more than 32 fields" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_refused(&cases[i].params, cases[i].reason);
	}
}

static void accepts_the_maximum_number_of_rows(void **state)
{
	struct history_query_params params = { .from = "1795000000",
		.to = "1795011000",
		.step = "1s" };
	struct history_query q = parse(&params);
	struct error err;

	(void)state;
	assert_int_equal(history_query_row_count(&q), HISTORY_QUERY_ROWS_MAX);
	params.to = "1795011000.1";
	assert_int_equal(history_query_parse(&q, &params, &context, &err),
		-EINVAL);
}

static void parses_the_statistic_of_a_field(void **state)
{
	struct history_query q = parse(&(struct history_query_params){
		.fields = "used_cores_max,cpu.used_cores_p95,cores" });

	(void)state;
	assert_string_equal(q.fields[0].name, "cpu.used_cores_max");
	assert_int_equal(q.fields[0].stat, HISTORY_QUERY_MAX);
	assert_int_equal(q.fields[0].figure, ROLLUP_cpu_used_cores);
	assert_string_equal(q.fields[1].name, "cpu.used_cores_p95");
	assert_int_equal(q.fields[1].stat, HISTORY_QUERY_P95);
	assert_int_equal(q.fields[2].stat, HISTORY_QUERY_MEAN);
	assert_false(q.fields[2].is_sum);
	/* Percentiles need at least minutes. */
	assert_int_equal(q.tier, STORE_1M);
	assert_int_equal(q.step_us, 60 * second);
}

static void a_vm_has_its_own_fields(void **state)
{
	struct history_query_context of_vm = context;
	struct history_query_params params = { 0 };
	struct history_query q;

	(void)state;
	of_vm.is_vm = true;
	assert_int_equal(history_query_parse(&q, &params, &of_vm, NULL), 0);
	assert_int_equal(q.field_count, ROLLUP_VM_FIELDS);
	assert_string_equal(q.fields[0].name, "used_cores");
	assert_true(q.fields[0].is_sum);
	assert_string_equal(q.fields[1].name, "contention");
	assert_false(q.fields[1].is_sum);
	params.fields = "memory_bytes_p95";
	assert_int_equal(history_query_parse(&q, &params, &of_vm, NULL), 0);
	assert_int_equal(q.fields[0].figure, ROLLUP_VM_memory_bytes);
	params.fields = "cpu.used_cores";
	assert_int_equal(history_query_parse(&q, &params, &of_vm, NULL),
		-EINVAL);
}

#define DAY_S UINT64_C(86400)

struct tier_case {
	uint64_t ago_s;
	const char *step;
	enum store_tier tier;
	uint64_t step_s, rows;
};

static void assert_tier(const struct tier_case *c,
	const struct history_query_context *kept)
{
	scoped_free char *from = xasprintf("%llu",
		(unsigned long long)(now / second - c->ago_s));
	struct history_query_params params = { .from = from,
		.to = "1795226696",
		.step = c->step };
	uint64_t row_us =
		c->tier == STORE_RAW ? second : history_query_tier_us(c->tier);
	struct history_query q;

	assert_int_equal(history_query_parse(&q, &params, kept, NULL), 0);
	if (q.tier != c->tier || q.step_us != c->step_s * second ||
		history_query_row_count(&q) != c->rows) {
		fail_msg("%s back to %s: tier %d, step %llu us, %zu rows",
			c->step, from, (int)q.tier,
			(unsigned long long)q.step_us,
			history_query_row_count(&q));
	}
	assert_int_equal(q.from_us % row_us, 0);
}

/* The first rate needs the report before. */
static void reports_are_read_a_minute_around_the_range(void **state)
{
	struct history_query query = { .tier = STORE_RAW,
		.from_us = 100000000,
		.to_us = 200000000 };
	uint64_t from_ms, to_ms;

	(void)state;
	history_range_ms(&from_ms, &to_ms, &query);
	assert_int_equal(from_ms, 40000);
	assert_int_equal(to_ms, 260000);
	query.from_us = 50000000;
	history_range_ms(&from_ms, &to_ms, &query);
	assert_int_equal(from_ms, 0);
	query.tier = STORE_1M;
	history_range_ms(&from_ms, &to_ms, &query);
	assert_int_equal(from_ms, 50000);
	assert_int_equal(to_ms, 200000);
}

static void picks_the_tier_that_fits_and_reaches_back(void **state)
{
	static const struct tier_case cases[] = {
		{ 600, "5s", STORE_RAW, 5, 120 },
		{ 600, "90s", STORE_RAW, 90, 7 },
		{ 600, "60s", STORE_1M, 60, 11 },
		{ 600, "2m", STORE_1M, 120, 6 },
		{ 86400, "90m", STORE_1M, 5400, 17 },
		{ 86400, "1h", STORE_1H, 3600, 25 },
		{ 86400, "1d", STORE_1H, 86400, 2 },
		{ 7 * DAY_S, "100s", STORE_RAW, 100, 6048 },
		{ 8 * DAY_S, "100s", STORE_1M, 120, 5761 },
		{ 31 * DAY_S, "5m", STORE_1H, 3600, 745 },
		/* Older than every retention. */
		{ 500 * DAY_S, "2h", STORE_1H, 7200, 6001 },
		/* Hours keep the number of rows within the limit. */
		{ 40 * DAY_S, "5s", STORE_1H, 3600, 961 },
	};
	struct history_query_context kept = context;

	(void)state;
	kept.retention_us[STORE_RAW] = 7 * DAY_US;
	kept.retention_us[STORE_1M] = 30 * DAY_US;
	kept.retention_us[STORE_1H] = 400 * DAY_US;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_tier(&cases[i], &kept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_times),
		cmocka_unit_test(rejects_what_is_not_a_time),
		cmocka_unit_test(fills_in_defaults),
		cmocka_unit_test(the_default_step_is_at_least_the_interval),
		cmocka_unit_test(the_default_step_limits_the_rows),
		cmocka_unit_test(
			the_default_step_divides_a_minute_an_hour_or_a_day),
		cmocka_unit_test(parses_steps),
		cmocka_unit_test(finds_fields_with_and_without_group),
		cmocka_unit_test(parses_the_statistic_of_a_field),
		cmocka_unit_test(a_vm_has_its_own_fields),
		cmocka_unit_test(reports_are_read_a_minute_around_the_range),
		cmocka_unit_test(picks_the_tier_that_fits_and_reaches_back),
		cmocka_unit_test(rejects_bad_parameters_with_a_reason),
		cmocka_unit_test(accepts_the_maximum_number_of_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
