#include "aggregator/series/window.h"

#include "tests/support/cm.h"

#include <math.h>

static const uint64_t second = 1000000;

struct rate {
	uint64_t from_us, to_us;
	double value;
};

static void assert_near(double a, double b, double tolerance)
{
	if (!(fabs(a - b) <= tolerance)) {
		fail_msg("%g is not %g within %g", a, b, tolerance);
	}
}

/* The expected figures, computed from all rates by the definition. */
static struct window_figures by_definition(const struct rate *rates,
	size_t count, uint64_t now_us, uint64_t stretch_us)
{
	uint64_t start_us = now_us - stretch_us;
	double weight = 0, sum = 0, squares = 0, mean;

	for (size_t i = 0; i < count; i++) {
		uint64_t from_us = rates[i].from_us;

		from_us = from_us < start_us ? start_us : from_us;
		if (from_us < rates[i].to_us) {
			double w = (double)(rates[i].to_us - from_us);

			weight += w;
			sum += w * rates[i].value;
			squares += w * rates[i].value * rates[i].value;
		}
	}
	mean = sum / weight;
	return (struct window_figures){ mean,
		sqrt(squares / weight - mean * mean) };
}

/* Numerical Recipes' generator: the same rates in every run. */
static double next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed / 4294967296.0;
}

/* Uneven intervals of 1 to 3 s, values 0 to 4, two hours. */
enum { RATES = 3600 };

static void make_rates(struct rate *rates)
{
	uint64_t at_us = 1000 * second;
	uint32_t seed = 7;

	for (size_t i = 0; i < RATES; i++) {
		uint64_t len_us = (uint64_t)(1e6 + 2e6 * next_random(&seed));

		rates[i] = (struct rate){ at_us, at_us + len_us,
			4 * next_random(&seed) };
		at_us += len_us;
	}
}

/* The first slot counts in part, without knowing where its values are: the
 * greatest error is its share of the window times the range of values. */
static void assert_agrees(const struct rate *rates, uint64_t slot_s,
	uint64_t stretch_s)
{
	uint64_t stretch_us = stretch_s * second;
	double off = 4 * (double)slot_s / (double)stretch_s;
	struct window w;

	window_init(&w, slot_s * second, stretch_s / slot_s + 1);
	for (size_t i = 0; i < RATES; i++) {
		uint64_t now_us = rates[i].to_us;
		struct window_figures is, should;

		window_add(&w, rates[i].from_us, now_us, rates[i].value);
		if (i < RATES / 2) {
			continue;
		}
		is = window_read(&w, now_us, stretch_us);
		should = by_definition(rates, i + 1, now_us, stretch_us);
		assert_near(is.mean, should.mean, off);
		assert_near(is.stdev, should.stdev, off);
	}
	window_fini(&w);
}

static void agrees_with_the_definition(void **state)
{
	struct rate rates[RATES];

	(void)state;
	make_rates(rates);
	assert_agrees(rates, 1, 10);
	assert_agrees(rates, 10, 60);
	assert_agrees(rates, 10, 300);
	assert_agrees(rates, 10, 900);
	assert_agrees(rates, 60, 3600);
}

static void is_exact_at_slot_edges(void **state)
{
	const struct rate rates[] = { { 100 * second, 104 * second, 1 },
		{ 104 * second, 125 * second, 3 },
		{ 125 * second, 140 * second, 2 } };
	struct window_figures is, should;
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 31);
	for (size_t i = 0; i < 3; i++) {
		window_add(&w, rates[i].from_us, rates[i].to_us,
			rates[i].value);
	}
	is = window_read(&w, 140 * second, 40 * second);
	should = by_definition(rates, 3, 140 * second, 40 * second);
	assert_near(is.mean, should.mean, 1e-6);
	assert_near(is.stdev, should.stdev, 1e-6);
	is = window_read(&w, 140 * second, 20 * second);
	should = by_definition(rates, 3, 140 * second, 20 * second);
	assert_near(is.mean, should.mean, 1e-6);
	window_fini(&w);
}

static void the_first_slot_counts_in_part(void **state)
{
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 7);
	window_add(&w, 100 * second, 110 * second, 4);
	window_add(&w, 110 * second, 120 * second, 1);
	assert_near(window_read(&w, 120 * second, 15 * second).mean, 2, 1e-6);
	window_fini(&w);
}

static void late_rates_count_by_their_time(void **state)
{
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 7);
	window_add(&w, 150 * second, 160 * second, 1);
	window_add(&w, 110 * second, 120 * second, 3);
	assert_near(window_read(&w, 160 * second, 60 * second).mean, 2, 1e-6);
	assert_near(window_read(&w, 160 * second, 20 * second).mean, 1, 1e-6);
	window_fini(&w);
}

static void drops_rates_that_are_too_old(void **state)
{
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 7);
	window_add(&w, 500 * second, 510 * second, 1);
	window_add(&w, 100 * second, 110 * second, 9);
	assert_near(window_read(&w, 510 * second, 60 * second).mean, 1, 1e-6);
	/* A step of more than all slots removes all data. */
	window_add(&w, 100000 * second, 100002 * second, 2);
	assert_near(window_read(&w, 100002 * second, 60 * second).mean, 2,
		1e-6);
	window_fini(&w);
}

static void ignores_gaps(void **state)
{
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 31);
	assert_true(isnan(window_read(&w, 100 * second, 60 * second).mean));
	window_add(&w, 10 * second, 20 * second, 4);
	window_add(&w, 20 * second, 200 * second, NAN);
	window_add(&w, 200 * second, 230 * second, 2);
	window_add(&w, 230 * second, 230 * second, 7);
	assert_near(window_read(&w, 230 * second, 240 * second).mean, 2.5,
		1e-6);
	assert_true(isnan(window_read(&w, 230 * second, 0).mean));
	window_fini(&w);
}

static void keeps_small_deviations_of_large_values(void **state)
{
	const double base = 500e9; /* bytes */
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 91);
	for (uint64_t i = 0; i < 400; i++) {
		window_add(&w, (100 + 2 * i) * second, (102 + 2 * i) * second,
			base + (i % 2 == 0 ? 50e6 : -50e6));
	}
	assert_near(window_read(&w, 900 * second, 800 * second).mean, base,
		1e5);
	assert_near(window_read(&w, 900 * second, 800 * second).stdev, 50e6,
		1e5);
	window_fini(&w);
}

static void clear_removes_all_data(void **state)
{
	struct window w;

	(void)state;
	window_init(&w, 10 * second, 7);
	window_add(&w, 500 * second, 510 * second, 1);
	window_clear(&w);
	assert_true(isnan(window_read(&w, 510 * second, 60 * second).mean));
	window_add(&w, 3 * second, 5 * second, 2);
	assert_near(window_read(&w, 5 * second, 60 * second).mean, 2, 1e-6);
	window_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(is_exact_at_slot_edges),
		cmocka_unit_test(the_first_slot_counts_in_part),
		cmocka_unit_test(late_rates_count_by_their_time),
		cmocka_unit_test(drops_rates_that_are_too_old),
		cmocka_unit_test(ignores_gaps),
		cmocka_unit_test(keeps_small_deviations_of_large_values),
		cmocka_unit_test(clear_removes_all_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
