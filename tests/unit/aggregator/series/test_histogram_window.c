#include "aggregator/series/histogram_window.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t second = 1000000;

enum { CORES = 16 };

/* The error that the header allows. */
static const double error = (double)CORES / HISTOGRAM_WINDOW_BINS;

static int setup(void **state)
{
	struct histogram_window *window = xcalloc(1, sizeof(*window));

	histogram_window_init(window, 300 * second, 13);
	*state = window;
	return 0;
}

static int teardown(void **state)
{
	histogram_window_fini(*state);
	free(*state);
	return 0;
}

static void add(struct histogram_window *window, uint64_t from_s, uint64_t to_s,
	double value)
{
	histogram_window_add(window, from_s * second, to_s * second, value,
		CORES);
}

static double p95_at(const struct histogram_window *window, uint64_t now_s)
{
	return histogram_window_read(window, now_s * second, 3600 * second,
		0.95);
}

static void assert_about(double a, double b)
{
	if (!(fabs(a - b) <= error)) {
		fail_msg("%g is not about %g", a, b);
	}
}

static void no_data_is_nan(void **state)
{
	assert_true(isnan(p95_at(*state, 100)));
	histogram_window_add(*state, 0, second, NAN, CORES);
	histogram_window_add(*state, 0, second, 1, NAN);
	histogram_window_add(*state, 0, second, 1, 0);
	assert_true(isnan(p95_at(*state, 100)));
}

static void the_percentile_of_a_steady_rate_is_the_rate(void **state)
{
	static const double rates[] = { 0, 0.01, 1.5, 7.77, 15.99, 16 };

	for (size_t i = 0; i < count_of(rates); i++) {
		histogram_window_clear(*state);
		for (uint64_t s = 0; s < 1000; s += 2) {
			add(*state, s, s + 2, rates[i]);
		}
		assert_about(p95_at(*state, 1000), rates[i]);
	}
}

static void peaks_count_by_their_duration(void **state)
{
	/* 4 % of the time at 12 cores does not change p95. */
	for (uint64_t s = 0; s < 3000; s += 2) {
		add(*state, s, s + 2, s % 100 < 4 ? 12 : 2);
	}
	assert_about(p95_at(*state, 3000), 2);
	histogram_window_clear(*state);
	/* One long interval counts as much as many short ones. */
	add(*state, 0, 900, 2);
	add(*state, 900, 1000, 12);
	assert_about(p95_at(*state, 1000), 12);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* Compared with the exact percentile, for many distributions. */
static void the_error_is_at_most_one_bin(void **state)
{
	enum { COUNT = 1800 };
	static double values[COUNT];
	uint32_t seed = 1;

	for (int shape = 1; shape <= 8; shape++) {
		histogram_window_clear(*state);
		for (size_t i = 0; i < COUNT; i++) {
			seed = seed * 1664525 + 1013904223;
			values[i] = CORES *
				pow((double)(seed >> 8) / (1 << 24), shape);
			add(*state, 2 * i, 2 * i + 2, values[i]);
		}
		qsort(values, COUNT, sizeof(*values), by_value);
		assert_about(p95_at(*state, 3600),
			values[(size_t)(0.95 * COUNT) - 1]);
	}
}

static void values_before_the_window_do_not_count(void **state)
{
	add(*state, 0, 300, 12);
	add(*state, 300, 600, 2);
	assert_about(p95_at(*state, 600), 12);
	/* 50 s of the first slot are still inside, 1 s of the second */
	add(*state, 600, 3850, 2);
	assert_about(p95_at(*state, 3850), 2);
	add(*state, 90000, 90002, 5);
	assert_about(p95_at(*state, 90002), 5);
}

static void late_values_count_by_their_time(void **state)
{
	add(*state, 3000, 3002, 2);
	add(*state, 2000, 2900, 12);
	assert_about(p95_at(*state, 3002), 12);
	/* older than all slots */
	add(*state, 100000, 100002, 2);
	add(*state, 100, 2000, 12);
	assert_about(p95_at(*state, 100002), 2);
}

static void another_range_removes_the_data(void **state)
{
	add(*state, 0, 300, 12);
	histogram_window_add(*state, 300 * second, 302 * second, 1, 4);
	assert_about(p95_at(*state, 302), 1);
}

static void short_intervals_do_not_overflow_a_slot(void **state)
{
	for (uint64_t i = 0; i < 3000; i++) {
		histogram_window_add(*state, i * 100000, (i + 1) * 100000,
			i % 4 == 0 ? 12 : 2, CORES);
	}
	assert_about(p95_at(*state, 300), 12);
	assert_about(
		histogram_window_read(*state, 300 * second, 300 * second, 0.5),
		2);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(no_data_is_nan),
		test(the_percentile_of_a_steady_rate_is_the_rate),
		test(peaks_count_by_their_duration),
		test(the_error_is_at_most_one_bin),
		test(values_before_the_window_do_not_count),
		test(late_values_count_by_their_time),
		test(another_range_removes_the_data),
		test(short_intervals_do_not_overflow_a_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
