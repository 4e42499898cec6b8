/* Includes cmocka.h and the headers it requires, in their order. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* requires the four above */
#include <cmocka.h>

/* Marks a test program that guards data: if it fails, it gets no second chance
 * (tests/support/second_chance.py). */
#define STEADY(reason) _Static_assert(sizeof(reason) > 1, reason)

/* Marks a test program that takes longer than ten seconds, with a sanitizer or
 * without: run_tests.py begins with those. */
#define SLOW(reason) _Static_assert(sizeof(reason) > 1, reason)

struct uv_loop_s;

/* The limit of each wait for a condition. After it, the condition will not come
 * on any machine. */
enum { PATIENCE_S = 300 };

/* Runs the loop until is_true(owner), which is asked in each turn and after a
 * millisecond without an event. Fails the test after PATIENCE_S. */
void run_until_true(struct uv_loop_s *loop, bool (*is_true)(void *owner),
	void *owner);

/* Runs the loop until *flag is true. */
void run_until(struct uv_loop_s *loop, const bool *flag);
