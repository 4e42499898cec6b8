#include "tests/support/cm.h"

#include <uv.h>

/* Sanitized builds are slow on slow disks; run_until() ends as soon as *flag is
 * true. */
enum { PATIENCE_MS = 60000 };

static void on_late(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

/* A timer of the same turn may have set *flag, and nothing else may follow. */
static void on_prepare(uv_prepare_t *prepare)
{
	const bool *const *flag = prepare->data;

	if (**flag) {
		uv_stop(prepare->loop);
	}
}

void run_until(uv_loop_t *loop, const bool *flag)
{
	bool late = false;
	uv_timer_t patience = { .data = &late };
	uv_prepare_t prepare = { .data = &flag };

	assert_int_equal(uv_timer_init(loop, &patience), 0);
	patience.data = &late;
	assert_int_equal(uv_timer_start(&patience, on_late, PATIENCE_MS, 0), 0);
	assert_int_equal(uv_prepare_init(loop, &prepare), 0);
	prepare.data = &flag;
	assert_int_equal(uv_prepare_start(&prepare, on_prepare), 0);
	while (!*flag && !late) {
		(void)uv_run(loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&prepare, NULL);
	uv_close((uv_handle_t *)&patience, NULL);
	/* The handles are on this stack, so wait until they are closed. */
	while (uv_is_active((uv_handle_t *)&patience)) {
		(void)uv_run(loop, UV_RUN_NOWAIT);
	}
	(void)uv_run(loop, UV_RUN_NOWAIT);
	assert_true(*flag);
}
