/* The libuv loop of a daemon: signals, timers that free themselves, a stop
 * that closes every handle. */
#pragma once

#include "lib/error.h"

#include <uv.h>

struct loop;

/* Called once on the first SIGTERM or SIGINT, or by loop_begin_stop(). It
 * closes what the daemon opened; a second signal ends the process at once. */
typedef void (*loop_stop)(void *owner);

/* A loop with signal handlers; SIGPIPE is ignored, and the process may open as
 * many files as its hard limit allows. Never NULL. */
struct loop *loop_new(loop_stop on_stop, void *owner);

uv_loop_t *loop_uv(struct loop *loop);

/* Runs until all handles are closed. */
void loop_run(struct loop *loop);

/* Acts as if SIGTERM had come; only the first call counts. */
void loop_begin_stop(struct loop *loop);

void loop_free(struct loop *loop); /* after loop_run(); NULL is fine */

/* A repeating or one-shot timer on the heap. */
struct timer;
typedef void (*timer_fire)(void *owner);

struct timer *timer_new(uv_loop_t *loop, timer_fire fire, void *owner);

/* Fires after first_ms and then every repeat_ms (0: once). Starting it again
 * replaces what was set. */
void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms);
void timer_stop(struct timer *timer);
void timer_close(struct timer *timer); /* frees itself; NULL is fine */
