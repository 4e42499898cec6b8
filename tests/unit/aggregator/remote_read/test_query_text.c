#include "aggregator/remote_read/query_text.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdlib.h>
#include <string.h>

static const struct history_query_context kept = { .interval_us = 2000000,
	.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
static const struct history_query_context kept_vm = { .is_vm = true,
	.interval_us = 2000000,
	.retention_us = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
static const struct option_list no_labels;

/* The expression of the first field, of the node n1 or the VM a/v1. */
static char *expression_of(struct history_query_params params, bool is_vm)
{
	struct history_query query;
	struct query_text text = { .node = is_vm ? NULL : "n1",
		.namespace = "a",
		.name = "v1",
		.query = &query,
		.interval_us = 2000000,
		.labels = &no_labels };
	struct buffer out = BUFFER_MAX(1 << 20);

	assert_int_equal(history_query_parse(&query, &params,
				 is_vm ? &kept_vm : &kept, NULL),
		0);
	query_text_field(&out, &text, 0);
	return buffer_take(&out, NULL);
}

static void assert_vm(const char *step, const char *field, const char *expected)
{
	scoped_free char *text = expression_of(
		(struct history_query_params){ "0", "7200", step, field },
		true);

	assert_string_equal(text, expected);
}

#define CORES                                                                  \
	"container_cpu_usage_seconds_total{namespace=\"a\",name=\"v1\","       \
	"pod_uid!=\"\"}"
#define BYTES                                                                  \
	"plimsoll_vm_memory_bytes{namespace=\"a\",name=\"v1\",pod_uid!=\"\"}"

static void a_mean_covers_the_row(void **state)
{
	(void)state;
	assert_vm("60", "used_cores",
		"(sum by () (max by (node,pod_uid) (rate(" CORES
		"[60000ms])))) and on () count_over_time(" CORES
		"[60000ms]) > 1");
	assert_vm("60", "memory_bytes",
		"sum by () (max by (node,pod_uid) (avg_over_time(" BYTES
		"[60000ms])))");
}

/* rate() needs samples, and only every fifth report has a VM's memory. */
static void a_short_row_looks_back_for_some_intervals(void **state)
{
	(void)state;
	assert_vm("2", "used_cores",
		"(sum by () (max by (node,pod_uid) (rate(" CORES
		"[8000ms])))) and on () count_over_time(" CORES
		"[8000ms]) > 1");
	assert_vm("2", "memory_bytes",
		"sum by () (max by (node,pod_uid) (avg_over_time(" BYTES
		"[12000ms])))");
}

static void a_long_row_is_the_mean_of_its_known_minutes(void **state)
{
	(void)state;
	assert_vm("3600", "memory_bytes",
		"avg_over_time((sum by () (max by (node,pod_uid) "
		"(avg_over_time(" BYTES "[60000ms]))))[3599999ms:60000ms])");
}

static void a_row_of_odd_length_is_one_mean(void **state)
{
	(void)state;
	assert_vm("90", "memory_bytes",
		"sum by () (max by (node,pod_uid) (avg_over_time(" BYTES
		"[90000ms])))");
}

static void a_long_range_has_fewer_parts(void **state)
{
	scoped_free char *week =
		expression_of((struct history_query_params){ "0", "604800",
				      "3600", "memory_bytes" },
			true);
	scoped_free char *year =
		expression_of((struct history_query_params){ "0", "31536000",
				      "86400", "memory_bytes" },
			true);

	(void)state;
	assert_non_null(strstr(week, "[300000ms]))))[3599999ms:300000ms])"));
	assert_non_null(
		strstr(year, "[21600000ms]))))[86399999ms:21600000ms])"));
}

static void a_maximum_looks_at_single_intervals_of_the_larger_pod(void **state)
{
	(void)state;
	assert_vm("60", "used_cores_max",
		"max_over_time(((max by () (max by (node,pod_uid) (irate(" CORES
		"[15000ms])))) and on () count_over_time(" CORES
		"[15000ms]) > 1)[59999ms:2000ms])");
	assert_vm("60", "memory_bytes_max",
		"max_over_time((max by () (max by (node,pod_uid) "
		"(last_over_time(" BYTES "[15000ms]))))[59999ms:2000ms])");
}

static void a_percentile_is_the_largest_of_its_minutes(void **state)
{
	(void)state;
	assert_vm("120", "memory_bytes_p95",
		"max_over_time((quantile_over_time(0.95, (max by () (max by "
		"(node,pod_uid) (last_over_time(" BYTES
		"[15000ms]))))[59999ms:2000ms]))[119999ms:60000ms])");
}

static void no_subquery_has_more_points_than_engines_allow(void **state)
{
	scoped_free char *text =
		expression_of((struct history_query_params){ "0", "604800",
				      "60", "used_cores_max" },
			true);

	(void)state;
	assert_non_null(strstr(text, ")[59999ms:25000ms])"));
}

#define NODE "{node=\"n1\"}[60000ms]"

static void a_nodes_figures_have_their_series(void **state)
{
	static const char *const cases[][2] = {
		{ "cpu.cores",
			"max by () (avg_over_time("
			"plimsoll_node_cpu_cores" NODE "))" },
		{ "memory.total_bytes",
			"max by () (avg_over_time("
			"node_memory_MemTotal_bytes" NODE "))" },
		{ "io.pressure_full",
			"(clamp_max(max by () (rate("
			"node_pressure_io_stalled_seconds_total" NODE
			")), 1)) and on () count_over_time("
			"plimsoll_node_cpu_cores" NODE ") > 1" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			expression_of((struct history_query_params){ "0",
					      "7200", "60", cases[i][0] },
				false);

		assert_string_equal(text, cases[i][1]);
	}
}

/* ---- names from outside ---- */

static char *expression_with(const char *node, const struct option_list *labels)
{
	struct history_query_params params = { "0", "60", "60", "cpu.cores" };
	struct history_query query;
	struct query_text text = { .node = node,
		.query = &query,
		.interval_us = 2000000,
		.labels = labels };
	struct buffer out = BUFFER_MAX(1 << 20);

	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	query_text_field(&out, &text, 0);
	return buffer_take(&out, NULL);
}

static void no_name_ends_its_string(void **state)
{
	static const char *const cases[][2] = {
		{ "a\"} or vector(1) or x{y=\"",
			"{node=\"a\\\"} or vector(1) or x{y=\\\"\"}" },
		{ "a\\", "{node=\"a\\\\\"}" },
		{ "a\\\"", "{node=\"a\\\\\\\"\"}" },
		{ "a\nb\x7f", "{node=\"a\\x0ab\\x7f\"}" },
		{ "\xc3\xa4`'${x}", "{node=\"\xc3\xa4`'${x}\"}" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			expression_with(cases[i][0], &no_labels);

		assert_non_null(strstr(text, cases[i][1]));
	}
}

static void labels_of_the_operator_select_the_series(void **state)
{
	const struct option_list labels = { { "cluster=a\"b", "x=y=z" }, 2 };
	scoped_free char *text = expression_with("n1", &labels);

	(void)state;
	assert_non_null(
		strstr(text, "{node=\"n1\",cluster=\"a\\\"b\",x=\"y=z\"}"));
}

static void only_text_can_match(void **state)
{
	struct query_text text = { .node = "n1" };

	(void)state;
	assert_true(query_text_can_match(&text));
	text.node = "";
	assert_false(query_text_can_match(&text));
	text.node = "a\xff";
	assert_false(query_text_can_match(&text));
	text = (struct query_text){ .namespace = "a", .name = "b" };
	assert_true(query_text_can_match(&text));
	text.namespace = "\xc0\x80";
	assert_false(query_text_can_match(&text));
}

/* ---- requests ---- */

static void fields_are_told_apart_by_a_label(void **state)
{
	struct history_query_params params = { "100", "400.5", "60",
		"cpu.cores,memory.total_bytes" };
	struct history_query query;
	struct query_text text = { .node = "n1",
		.query = &query,
		.interval_us = 2000000,
		.labels = &no_labels };
	scoped_buffer struct buffer out = BUFFER_MAX(QUERY_FORM_MAX);
	scoped_buffer struct buffer both = BUFFER_MAX(1 << 20);

	(void)state;
	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	assert_int_equal(query_text_fields(&both, &text, 0, 9), 2);
	assert_non_null(strstr(both.data,
		"), \"plimsoll_field\", \"0\", \"\", \"\") or label_replace("));
	assert_non_null(
		strstr(both.data, ", \"plimsoll_field\", \"1\", \"\", \"\")"));
	assert_int_equal(
		query_text_form(&out,
			&(struct query_form){ &text, 3, 1, 9, 2000000 }),
		1);
	assert_int_equal(strncmp(out.data, "query=label_replace%28max", 25), 0);
	assert_non_null(strstr(out.data,
		"&start=120.000000&end=240.000000&step=60.000000"
		"&timeout=2.000000&nocache=1"));
}

static void many_fields_become_several_requests(void **state)
{
	struct history_query_params params = { "0", "604800", "3600", NULL };
	struct history_query query;
	struct query_text text = { .node = "n1",
		.query = &query,
		.interval_us = 2000000,
		.labels = &no_labels };
	scoped_free char *fields = xstrdup("contention_p95");
	size_t first = 0, requests = 0;

	(void)state;
	for (int i = 0; i < 31; i++) {
		char *more = xasprintf("%s,contention_p95", fields);

		free(fields);
		fields = more;
	}
	params.fields = fields;
	assert_int_equal(history_query_parse(&query, &params, &kept, NULL), 0);
	while (first < query.field_count) {
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
		size_t count = query_text_fields(&out, &text, first, 32);

		assert_true(count > 0);
		assert_true(out.len <= QUERY_TEXT_BYTES_MAX);
		first += count;
		requests++;
	}
	assert_in_range(requests, 2, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mean_covers_the_row),
		cmocka_unit_test(a_short_row_looks_back_for_some_intervals),
		cmocka_unit_test(a_long_row_is_the_mean_of_its_known_minutes),
		cmocka_unit_test(a_row_of_odd_length_is_one_mean),
		cmocka_unit_test(a_long_range_has_fewer_parts),
		cmocka_unit_test(
			a_maximum_looks_at_single_intervals_of_the_larger_pod),
		cmocka_unit_test(a_percentile_is_the_largest_of_its_minutes),
		cmocka_unit_test(
			no_subquery_has_more_points_than_engines_allow),
		cmocka_unit_test(a_nodes_figures_have_their_series),
		cmocka_unit_test(no_name_ends_its_string),
		cmocka_unit_test(labels_of_the_operator_select_the_series),
		cmocka_unit_test(only_text_can_match),
		cmocka_unit_test(fields_are_told_apart_by_a_label),
		cmocka_unit_test(many_fields_become_several_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
