#include "lib/loop.h"

#include "lib/memory.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct loop {
	uv_loop_t uv;
	uv_signal_t term, interrupt;
	loop_stop on_stop;
	void *owner;
	bool stopping;
};

struct timer {
	uv_timer_t uv;
	timer_fire fire;
	void *owner;
	bool is_firing;
};

static void on_signal(uv_signal_t *handle, int number)
{
	struct loop *loop = handle->data;

	if (loop->stopping) {
		_exit(128 + number);
	}
	loop_begin_stop(loop);
}

static void watch_signal(struct loop *loop, uv_signal_t *handle, int number)
{
	if (uv_signal_init(&loop->uv, handle) != 0 ||
		uv_signal_start(handle, on_signal, number) != 0) {
		abort();
	}
	handle->data = loop;
	/* Signal handles alone must not keep the loop running. */
	uv_unref((uv_handle_t *)handle);
}

/* Each peer and each kernel file needs a descriptor, and the usual soft limit
 * is 1024. Without descriptors, listeners can neither accept connections nor
 * answer probes. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct loop *loop_new(loop_stop on_stop, void *owner)
{
	struct loop *loop = xcalloc(1, sizeof(*loop));

	loop->on_stop = on_stop;
	loop->owner = owner;
	if (uv_loop_init(&loop->uv) != 0) {
		abort();
	}
	watch_signal(loop, &loop->term, SIGTERM);
	watch_signal(loop, &loop->interrupt, SIGINT);
	(void)signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	return loop;
}

uv_loop_t *loop_uv(struct loop *loop)
{
	return &loop->uv;
}

void loop_run(struct loop *loop)
{
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_begin_stop(struct loop *loop)
{
	if (!loop->stopping) {
		loop->stopping = true;
		loop->on_stop(loop->owner);
	}
}

void loop_free(struct loop *loop)
{
	if (loop == NULL) {
		return;
	}
	uv_close((uv_handle_t *)&loop->term, NULL);
	uv_close((uv_handle_t *)&loop->interrupt, NULL);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop->uv);
	free(loop);
}

static void on_timer(uv_timer_t *handle)
{
	struct timer *timer = handle->data;

	timer->is_firing = true;
	timer->fire(timer->owner);
	timer->is_firing = false;
}

struct timer *timer_new(uv_loop_t *loop, timer_fire fire, void *owner)
{
	struct timer *timer = xcalloc(1, sizeof(*timer));

	timer->fire = fire;
	timer->owner = owner;
	(void)uv_timer_init(loop, &timer->uv);
	timer->uv.data = timer;
	return timer;
}

void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms)
{
	/* libuv before 1.45 runs a timer of 0 ms again and again, and nothing
	 * else. */
	uint64_t least_ms = timer->is_firing ? 1 : 0;

	(void)uv_timer_start(&timer->uv, on_timer,
		first_ms > least_ms ? first_ms : least_ms, repeat_ms);
}

void timer_stop(struct timer *timer)
{
	(void)uv_timer_stop(&timer->uv);
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void timer_close(struct timer *timer)
{
	if (timer != NULL) {
		uv_close((uv_handle_t *)&timer->uv, on_timer_closed);
	}
}

const char *loop_library_version(void)
{
	return uv_version_string();
}
