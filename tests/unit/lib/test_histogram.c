#include "lib/histogram.h"

#include "tests/support/cm.h"

#include <string.h>

static const struct histogram_shape shape = { 1, 2, 3 };

static void a_bound_belongs_to_the_bucket_below_it(void **state)
{
	static const struct {
		double value;
		size_t bucket;
	} cases[] = { { 0, 0 }, { 1, 0 }, { 1.5, 1 }, { 2, 1 }, { 4, 2 },
		{ 4.1, 3 }, { 1e9, 3 } };
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct histogram histogram = { 0 };

		histogram_observe(&histogram, &shape, cases[i].value);
		assert_int_equal(histogram.counts[cases[i].bucket], 1);
		assert_int_equal(histogram.count, 1);
	}
}

static void writes_cumulative_buckets(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct histogram histogram = { 0 };
	(void)state;

	histogram_observe(&histogram, &shape, 0.5);
	histogram_observe(&histogram, &shape, 3);
	histogram_observe(&histogram, &shape, 100);
	histogram_write(&out, "x", "a=\"b\"", &histogram, &shape);
	assert_string_equal(out.data,
		"x_bucket{a=\"b\",le=\"1\"} 1\n"
		"x_bucket{a=\"b\",le=\"2\"} 1\n"
		"x_bucket{a=\"b\",le=\"4\"} 2\n"
		"x_bucket{a=\"b\",le=\"+Inf\"} 3\n"
		"x_sum{a=\"b\"} 103.5\n"
		"x_count{a=\"b\"} 3\n");
	buffer_clear(&out);
	histogram_write(&out, "x", "", &histogram, &shape);
	assert_non_null(strstr(out.data, "x_bucket{le=\"1\"} 1\n"));
	assert_non_null(strstr(out.data, "x_sum 103.5\nx_count 3\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_belongs_to_the_bucket_below_it),
		cmocka_unit_test(writes_cumulative_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
