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

/* Runs the loop until *flag is true; fails the test after a minute. */
struct uv_loop_s;
void run_until(struct uv_loop_s *loop, const bool *flag);
