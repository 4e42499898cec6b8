/* Timers that run by the clock of the test: each fires on its loop after
 * fake_clock_move() has reached its time, and at no other time. For a test
 * program with WRAP_test_x = $(FAKE_TIMERS) in the Makefile. */
#pragma once

#include "lib/loop.h"
#include "lib/memory.h"
#include "tests/support/fake_clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct fake_timer {
	TAILQ_ENTRY(fake_timer) link;
	struct timer *real;
	timer_fire fire;
	void *owner;
	uint64_t due_us, repeat_us;
	bool is_due; /* it fires in the next turn */
};

static TAILQ_HEAD(fake_timer_list,
	fake_timer) fake_timers = TAILQ_HEAD_INITIALIZER(fake_timers);

struct timer *__real_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __real_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms);
void __real_timer_stop(struct timer *timer);
void __real_timer_close(struct timer *timer);
struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner);
void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms);
void __wrap_timer_stop(struct timer *timer);
void __wrap_timer_close(struct timer *timer);

static inline void fake_timers_look(void)
{
	struct fake_timer *t;

	TAILQ_FOREACH(t, &fake_timers, link)
	{
		if (!t->is_due && t->due_us <= fake_clock.monotonic_us) {
			t->is_due = true;
			__real_timer_start(t->real, 0, 0);
		}
	}
}

/* It may be closed meanwhile. */
static inline void fake_timer_fire(void *owner)
{
	struct fake_timer *t = owner;

	t->is_due = false;
	t->due_us = t->repeat_us == 0 ? UINT64_MAX
				      : fake_clock.monotonic_us + t->repeat_us;
	t->fire(t->owner);
}

struct timer *__wrap_timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	struct fake_timer *t = xcalloc(1, sizeof(*t));

	t->real = __real_timer_new(loop, fake_timer_fire, t);
	t->fire = fire;
	t->owner = owner;
	t->due_us = UINT64_MAX;
	TAILQ_INSERT_TAIL(&fake_timers, t, link);
	fake_clock.on_move = fake_timers_look;
	return (struct timer *)t;
}

void __wrap_timer_start(struct timer *timer, uint64_t first_ms,
	uint64_t repeat_ms)
{
	struct fake_timer *t = (struct fake_timer *)timer;

	t->due_us = fake_clock.monotonic_us + first_ms * 1000;
	t->repeat_us = repeat_ms * 1000;
	t->is_due = first_ms == 0;
	if (t->is_due) {
		__real_timer_start(t->real, 0, 0);
	} else {
		__real_timer_stop(t->real);
	}
}

void __wrap_timer_stop(struct timer *timer)
{
	struct fake_timer *t = (struct fake_timer *)timer;

	t->due_us = UINT64_MAX;
	t->is_due = false;
	__real_timer_stop(t->real);
}

void __wrap_timer_close(struct timer *timer)
{
	struct fake_timer *t = (struct fake_timer *)timer;

	if (t != NULL) {
		TAILQ_REMOVE(&fake_timers, t, link);
		__real_timer_close(t->real);
		free(t);
	}
}
