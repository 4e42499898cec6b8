/* The clock of each unit test. It stands still until the test moves it, so that
 * no result depends on the machine's speed. The Makefile puts it in the place
 * of clock_monotonic_us(), clock_wall_us(), uv_now() and uv_cond_timedwait().
 * Timers of a loop run in real time, and what they do looks at this clock; with
 * tests/support/fake_timers.h, they run by this clock as well. */
#pragma once

#include <stdint.h>

/* The threads of a test read it. */
struct fake_clock {
	_Atomic uint64_t monotonic_us, wall_us;
	_Atomic uint64_t step_us; /* by which each read moves the clock */
	void (*on_move)(void);	  /* of tests/support/fake_timers.h, or NULL */
};

extern struct fake_clock fake_clock;

/* Both clocks go on by us. On the loop's thread. */
void fake_clock_move(uint64_t us);

/* Both show this time and stand still. */
void fake_clock_set(uint64_t monotonic_us, uint64_t wall_us);
