/* Includes cmocka.h and the headers it requires, in their order. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* requires the four above */
#include <cmocka.h>

/* Runs the loop until *flag is true; fails the test after a minute. */
struct uv_loop_s;
void run_until(struct uv_loop_s *loop, const bool *flag);
