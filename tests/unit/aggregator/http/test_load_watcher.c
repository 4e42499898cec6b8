#include "aggregator/http/load_watcher.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t second = 1000000;
static const uint64_t wall_s = 1753000000;

struct fixture {
	struct live *live;
	struct buffer body;
	struct json_value *root;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->live = live_new(42, NULL);
	f->body = BUFFER_MAX(1 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_free(f->live);
	buffer_fini(&f->body);
	json_value_free(f->root);
	free(f);
	return 0;
}

static void add_report(struct fixture *f, const char *node,
	struct report report, uint64_t at_s)
{
	struct live_sample sample = { node, run_a, &report,
		(int64_t)(at_s * second), 0 };

	assert_int_equal(live_add(f->live, &sample, at_s * second, NULL), 0);
}

/* Two reports, so that there are rates. */
static void add(struct fixture *f, const char *node, double cores,
	uint64_t at_s)
{
	add_report(f, node, steady_report(1, 100, cores), at_s - 7);
	add_report(f, node, steady_report(2, 107, cores), at_s);
}

static bool write_at(struct fixture *f, const char *host, uint64_t now_s)
{
	struct error error;

	buffer_clear(&f->body);
	if (!load_watcher_write(&f->body, f->live, host, now_s * second,
		    wall_s * second)) {
		assert_int_equal(f->body.len, 0);
		return false;
	}
	json_value_free(f->root);
	f->root = NULL;
	assert_int_equal(
		json_value_parse(&f->root, f->body.data, f->body.len, &error),
		0);
	return true;
}

static const struct json_value *map_of(struct fixture *f)
{
	return json_value_at(f->root, "data/NodeMetricsMap");
}

static double number_at(const struct json_value *v, const char *path)
{
	double number = NAN;

	assert_true(json_value_number(&number, json_value_at(v, path)));
	return number;
}

static void writes_the_document_of_load_watcher(void **state)
{
	struct fixture *f = *state;

	add(f, "n1", 1, 1000);
	assert_true(write_at(f, NULL, 1003));
	assert_string_equal(f->body.data,
		"{\"timestamp\":1753000000,\"window\":{\"duration\":\"15m\","
		"\"start\":1752999097,\"end\":1752999997},"
		"\"source\":\"plimsoll\",\"data\":{\"NodeMetricsMap\":{"
		"\"n1\":{\"metrics\":["
		"{\"name\":\"\",\"type\":\"CPU\",\"operator\":\"STD\","
		"\"rollup\":\"15m\",\"value\":0.000000},"
		"{\"name\":\"\",\"type\":\"CPU\",\"operator\":\"AVG\","
		"\"rollup\":\"15m\",\"value\":25.000000},"
		"{\"name\":\"\",\"type\":\"Memory\",\"operator\":\"STD\","
		"\"rollup\":\"15m\",\"value\":0.000000},"
		"{\"name\":\"\",\"type\":\"Memory\",\"operator\":\"AVG\","
		"\"rollup\":\"15m\",\"value\":40.000000}],"
		"\"tags\":{},\"metadata\":{\"dataCenter\":\"\"}}}}}\n");
}

static void the_window_ends_with_its_newest_sample(void **state)
{
	struct fixture *f = *state;

	add(f, "n2", 1, 995);
	add(f, "n1", 1, 990);
	/* The newest of all, but left out because it has no rates. */
	add_report(f, "n3", steady_report(1, 100, 1), 1000);
	assert_true(write_at(f, NULL, 1000));
	assert_int_equal(json_value_count(map_of(f)), 2);
	assert_true(number_at(f->root, "window/end") == (double)wall_s - 5);
	assert_true(number_at(f->root, "window/start") == (double)wall_s - 905);
	assert_true(write_at(f, "n1", 1000));
	assert_true(number_at(f->root, "window/end") == (double)wall_s - 10);
}

static void leaves_out_stale_nodes(void **state)
{
	struct fixture *f = *state;

	add(f, "n1", 1, 900);
	add(f, "n2", 1, 1000);
	assert_true(write_at(f, NULL, 1010));
	assert_null(json_value_get(map_of(f), "n1"));
	assert_non_null(json_value_get(map_of(f), "n2"));
	assert_false(write_at(f, "n1", 1010));
	assert_true(write_at(f, NULL, 1100));
	assert_int_equal(json_value_count(map_of(f)), 0);
}

static void leaves_out_unknown_figures_without_null(void **state)
{
	struct fixture *f = *state;
	struct report before = steady_report(1, 100, 1);
	struct report after = steady_report(2, 107, 1);

	before.memory.state = SOURCE_ERROR;
	after.memory.state = SOURCE_ERROR;
	add_report(f, "n1", before, 993);
	add_report(f, "n1", after, 1000);
	/* A node without a CPU rate is left out. */
	add_report(f, "n2", steady_report(1, 100, 1), 1000);
	assert_true(write_at(f, NULL, 1000));
	assert_int_equal(json_value_count(json_value_get(
				 json_value_get(map_of(f), "n1"), "metrics")),
		2);
	assert_null(json_value_get(map_of(f), "n2"));
	assert_null(strstr(f->body.data, "null"));
	assert_null(strstr(f->body.data, "nan"));
}

static void writes_one_node(void **state)
{
	struct fixture *f = *state;

	add(f, "n1", 1, 1000);
	add(f, "n2", 1, 1000);
	assert_true(write_at(f, "n2", 1000));
	assert_int_equal(json_value_count(map_of(f)), 1);
	assert_non_null(json_value_get(map_of(f), "n2"));
	assert_false(write_at(f, "n3", 1000));
	assert_false(write_at(f, "", 1000));
}

static void writes_an_empty_map_without_nodes(void **state)
{
	struct fixture *f = *state;

	assert_true(write_at(f, NULL, 1000));
	assert_true(json_value_is_object(map_of(f)));
	assert_int_equal(json_value_count(map_of(f)), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(writes_the_document_of_load_watcher),
		test(the_window_ends_with_its_newest_sample),
		test(leaves_out_stale_nodes),
		test(leaves_out_unknown_figures_without_null),
		test(writes_one_node),
		test(writes_an_empty_map_without_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
