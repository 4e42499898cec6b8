/* The state of one watch, in words, and in the log once for each change.
 *
 * A cluster without KubeVirt, or without the right to watch, is no fault: the
 * log has no warning of it.
 *
 * A watch is renewed every few minutes and is then interrupted for a moment. It
 * counts as lost after WATCH_STATUS_LOST_US. */
#pragma once

#include "kube/reflector.h"
#include "lib/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCH_STATUS_LOST_US UINT64_C(10000000)

/* Zeroed but for the resource: not synced yet. */
struct watch_status {
	const char *resource; /* "virtualmachineinstances" */
	uint64_t lost_us;     /* interrupted since; 0: it runs */
	bool is_running;      /* synced, and not lost */
	bool was_logged;      /* that it does not run */
	char error[320];      /* the last one; "": none */
};

/* To be called every few seconds. state NULL: the watch has not begun. */
void watch_status_poll(struct watch_status *status,
	const struct reflector_state *state, uint64_t now_us);

/* True if the watch runs. False: appends one sentence why not. */
bool watch_status_is_running(const struct watch_status *status,
	struct buffer *why);
