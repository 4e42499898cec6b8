/* Logs why a watch does not work, and when it works again. */
#pragma once

#include "kube/reflector.h"

#include <stdbool.h>

/* Zeroed is the start. */
struct watch_log {
	bool had_error; /* at the last poll */
	bool has_logged;
};

/* Watches end and start again all the time: only an error that lasts from one
 * poll to the next is logged, once. */
void watch_log_poll(struct watch_log *log, const struct reflector *reflector,
	const char *failure, const char *recovery);
