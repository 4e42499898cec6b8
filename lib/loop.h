/* The libuv loop of a daemon: signals, timers that free themselves, and a stop
 * that closes every handle. */
#pragma once

#include "lib/error.h"

#include <uv.h>

struct loop;

/* Called once, on the first SIGTERM or SIGINT or by loop_begin_stop(). It
 * closes everything the daemon opened. A second signal ends the process at
 * once. */
typedef void (*loop_stop)(void *owner);

/* Creates a loop with signal handlers. Ignores SIGPIPE and raises the limit of
 * open files to the hard limit. Never NULL. */
struct loop *loop_new(loop_stop on_stop, void *owner);

uv_loop_t *loop_uv(struct loop *loop);

/* Runs until every handle is closed. */
void loop_run(struct loop *loop);

/* Acts like SIGTERM; only the first call counts. */
void loop_begin_stop(struct loop *loop);

void loop_free(struct loop *loop); /* after loop_run(); NULL is fine */

/* A repeating or one-shot timer on the heap. */
struct timer;
typedef void (*timer_fire)(void *owner);

struct timer *timer_new(uv_loop_t *loop, timer_fire fire, void *owner);

/* Fires after first_ms and then every repeat_ms (0: once). Starting a timer
 * again replaces its times. A timer that starts itself with 0 lets the loop
 * serve everything else in between. */
void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms);
void timer_stop(struct timer *timer);
void timer_close(struct timer *timer); /* frees itself; NULL is fine */

/* The version of libuv that the program runs with. */
const char *loop_library_version(void);
