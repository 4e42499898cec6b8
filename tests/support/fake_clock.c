#include "tests/support/fake_clock.h"

#include <stdbool.h>
#include <unistd.h>
#include <uv.h>

uint64_t __wrap_clock_monotonic_us(void);
uint64_t __wrap_clock_wall_us(void);
uint64_t __wrap_uv_now(const uv_loop_t *loop);
int __real_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t ns);
int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t ns);

enum { LOOK_NS = 1000000 };

/* Ten days after the machine's start, on 2027-01-15. */
struct fake_clock fake_clock = { .monotonic_us = UINT64_C(864000000000),
	.wall_us = UINT64_C(1800000000678901) };

static void step(uint64_t us)
{
	fake_clock.monotonic_us += us;
	fake_clock.wall_us += us;
}

void fake_clock_move(uint64_t us)
{
	step(us);
	if (fake_clock.on_move != NULL) {
		fake_clock.on_move();
	}
}

void fake_clock_set(uint64_t monotonic_us, uint64_t wall_us)
{
	fake_clock.monotonic_us = monotonic_us;
	fake_clock.wall_us = wall_us;
	fake_clock.step_us = 0;
}

uint64_t __wrap_clock_monotonic_us(void)
{
	step(fake_clock.step_us);
	return fake_clock.monotonic_us;
}

uint64_t __wrap_clock_wall_us(void)
{
	step(fake_clock.step_us);
	return fake_clock.wall_us;
}

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
	(void)loop;
	return fake_clock.monotonic_us / 1000;
}

/* A thread that sleeps until a time wakes soon after the test moved the clock
 * there. If the test's own thread sleeps, nobody else moves the clock: it shows
 * the whole wait once that is over. */
int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t ns)
{
	bool is_tests = gettid() == getpid();
	int r = __real_uv_cond_timedwait(cond, mutex,
		is_tests || ns < LOOK_NS ? ns : LOOK_NS);

	if (is_tests && r == UV_ETIMEDOUT) {
		step(ns / 1000 + 1);
	}
	return r;
}
