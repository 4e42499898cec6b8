#include "tests/support/cm.h"

#include <uv.h>

enum { LOOK_MS = 1 };

struct wait {
	bool (*is_true)(void *owner);
	void *owner;
	bool is_over, is_late;
	uv_timer_t patience, look;
	uv_prepare_t prepare;
};

/* Does not ask again once it was true. */
static bool look(struct wait *wait)
{
	wait->is_over = wait->is_over || wait->is_true(wait->owner);
	return wait->is_over;
}

static void on_late(uv_timer_t *timer)
{
	struct wait *wait = timer->data;

	wait->is_late = true;
}

/* It only wakes the loop. */
static void on_look(uv_timer_t *timer)
{
	(void)timer;
}

/* A timer of the same turn may have ended the wait, and nothing else may
 * follow. */
static void on_prepare(uv_prepare_t *prepare)
{
	if (look(prepare->data)) {
		uv_stop(prepare->loop);
	}
}

static void start(struct wait *wait, uv_loop_t *loop)
{
	assert_int_equal(uv_timer_init(loop, &wait->patience), 0);
	assert_int_equal(uv_timer_init(loop, &wait->look), 0);
	assert_int_equal(uv_prepare_init(loop, &wait->prepare), 0);
	wait->patience.data = wait;
	wait->prepare.data = wait;
	assert_int_equal(uv_timer_start(&wait->patience, on_late,
				 PATIENCE_S * UINT64_C(1000), 0),
		0);
	assert_int_equal(uv_timer_start(&wait->look, on_look, LOOK_MS, LOOK_MS),
		0);
	assert_int_equal(uv_prepare_start(&wait->prepare, on_prepare), 0);
}

void run_until_true(uv_loop_t *loop, bool (*is_true)(void *owner), void *owner)
{
	struct wait wait = { .is_true = is_true, .owner = owner };

	start(&wait, loop);
	while (!look(&wait) && !wait.is_late) {
		(void)uv_run(loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&wait.prepare, NULL);
	uv_close((uv_handle_t *)&wait.look, NULL);
	uv_close((uv_handle_t *)&wait.patience, NULL);
	/* The handles are on this stack, so wait until they are closed. */
	(void)uv_run(loop, UV_RUN_NOWAIT);
	assert_false(wait.is_late);
}

struct flag {
	const bool *is_set;
};

static bool is_set(void *owner)
{
	const struct flag *flag = owner;

	return *flag->is_set;
}

void run_until(uv_loop_t *loop, const bool *flag)
{
	run_until_true(loop, is_set, &(struct flag){ flag });
}
