#include "tests/support/cm.h"

#include <uv.h>

/* Sanitized builds on a slow disk are slow; a wait ends when it is true. */
enum { PATIENCE_MS = 60000 };

static void on_late(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

void run_until(uv_loop_t *loop, const bool *flag)
{
	bool late = false;
	uv_timer_t patience = { .data = &late };

	assert_int_equal(uv_timer_init(loop, &patience), 0);
	patience.data = &late;
	assert_int_equal(uv_timer_start(&patience, on_late, PATIENCE_MS, 0), 0);
	while (!*flag && !late) {
		(void)uv_run(loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&patience, NULL);
	/* The handle is on this stack: let its close finish. */
	while (uv_is_active((uv_handle_t *)&patience)) {
		(void)uv_run(loop, UV_RUN_NOWAIT);
	}
	(void)uv_run(loop, UV_RUN_NOWAIT);
	assert_true(*flag);
}
