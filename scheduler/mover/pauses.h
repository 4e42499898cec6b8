/* Tells people when a pause after failures begins and when it ends: a log line,
 * and an event on the VM whose move failed last. */
#pragma once

#include "lib/map.h"
#include "scheduler/mover/recorder.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: nothing is paused. */
struct pauses {
	bool has_all;
	struct map namespaces; /* those that are paused */
};

/* To be called about every second. */
void pauses_tick(struct pauses *pauses, const struct recorder *recorder,
	struct moment now);

/* Returns the number of namespaces that were paused at the last tick. */
size_t pauses_count(const struct pauses *pauses);

void pauses_fini(struct pauses *pauses);
