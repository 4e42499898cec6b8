#include "scheduler/kubevirt/watch_status.h"

#include "lib/log.h"

#include <stdio.h>

/* A watch that has not begun, or has not synced, is not lost. */
static bool is_running(struct watch_status *status,
	const struct reflector_state *state, uint64_t now_us)
{
	if (!state->is_synced) {
		return false;
	}
	if (state->is_watching) {
		status->lost_us = 0;
	} else if (status->lost_us == 0) {
		status->lost_us = now_us;
	}
	return status->lost_us == 0 ||
		now_us - status->lost_us < WATCH_STATUS_LOST_US;
}

static void log_change(struct watch_status *status)
{
	if (status->is_running) {
		log_info("watching KubeVirt's objects",
			log_str("resource", status->resource), LOG_END);
		status->was_logged = false;
	} else if (*status->error != '\0' && !status->was_logged) {
		log_info("not watching KubeVirt's objects",
			log_str("resource", status->resource),
			log_str("err", status->error), LOG_END);
		status->was_logged = true;
	}
}

void watch_status_poll(struct watch_status *status,
	const struct reflector_state *state, uint64_t now_us)
{
	bool was_running = status->is_running;

	if (state == NULL) {
		return;
	}
	(void)snprintf(status->error, sizeof(status->error), "%s",
		state->last_error);
	status->is_running = is_running(status, state, now_us);
	if (status->is_running != was_running || !status->is_running) {
		log_change(status);
	}
}

bool watch_status_is_running(const struct watch_status *status,
	struct buffer *why)
{
	if (!status->is_running) {
		buffer_printf(why, "%s are not watched%s%s", status->resource,
			*status->error == '\0' ? " yet" : ": ", status->error);
	}
	return status->is_running;
}
