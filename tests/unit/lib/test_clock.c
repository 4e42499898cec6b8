#include "lib/clock.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>
#include <uv.h>

static void times_are_written_as_in_rfc_3339(void **state)
{
	static const struct {
		uint64_t wall_us;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 1, "1970-01-01T00:00:00.000001Z" },
		{ 1767323045678901, "2026-01-02T03:04:05.678901Z" },
		{ 1709251199999999, "2024-02-29T23:59:59.999999Z" },
		{ 4102444800000000, "2100-01-01T00:00:00.000000Z" },
	};
	char text[CLOCK_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_ptr_equal(clock_text(text, cases[i].wall_us), text);
		assert_string_equal(text, cases[i].text);
	}
}

static void any_time_fits_the_buffer(void **state)
{
	char text[CLOCK_TEXT_MAX];

	(void)state;
	clock_text(text, UINT64_MAX);
	assert_in_range(strlen(text), 27, CLOCK_TEXT_MAX - 1);
	assert_int_equal(text[strlen(text) - 1], 'Z');
}

/* The machine's clock, and not the tests' one. */
uint64_t __real_clock_monotonic_us(void);
uint64_t __real_clock_wall_us(void);

static void the_monotonic_clock_never_goes_back(void **state)
{
	uint64_t before = __real_clock_monotonic_us();
	uint64_t first = before;

	(void)state;
	while (before - first < 1000) {
		uint64_t now = __real_clock_monotonic_us();

		assert_true(now >= before);
		before = now;
	}
}

/* libuv reads the same two clocks. */
static void both_clocks_count_microseconds(void **state)
{
	uint64_t before = uv_hrtime() / 1000;
	uint64_t now = __real_clock_monotonic_us();
	uv_timeval64_t wall;

	(void)state;
	assert_in_range(now, before, uv_hrtime() / 1000);
	now = __real_clock_wall_us();
	assert_int_equal(uv_gettimeofday(&wall), 0);
	/* The wall clock may be set, but hardly between the two reads. */
	assert_in_range(
		(uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_usec - now,
		0, 5000000);
}

static void a_thread_that_works_uses_cpu_time(void **state)
{
	uint64_t before = clock_thread_cpu_us();
	uint64_t now = before;

	(void)state;
	while (now - before < 1000) {
		now = clock_thread_cpu_us();
		assert_true(now >= before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_written_as_in_rfc_3339),
		cmocka_unit_test(any_time_fits_the_buffer),
		cmocka_unit_test(the_monotonic_clock_never_goes_back),
		cmocka_unit_test(both_clocks_count_microseconds),
		cmocka_unit_test(a_thread_that_works_uses_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
