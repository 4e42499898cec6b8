/* Tells once what keeps a pod from its node: log, event and condition, again
 * only when the reason is another or 5 minutes have passed. */
#pragma once

#include "scheduler/cache/queue.h"
#include "scheduler/bind/events.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTICE_AGAIN_US INT64_C(300000000)

/* No node fits. False: it could not be told now; try again soon. */
bool notice_unschedulable(struct reporter *reporter, struct waiting *waiting,
	const char *message, int64_t now_us);

/* Something else went wrong with waiting->pod. */
void notice_error(struct reporter *reporter, struct waiting *waiting,
	const char *message, int64_t now_us);
