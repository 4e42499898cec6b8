/* What cmocka.h needs before it, in its order, for every test. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

/* Runs the loop until *flag or until a minute passed, which fails the test. */
struct uv_loop_s;
void run_until(struct uv_loop_s *loop, const bool *flag);
