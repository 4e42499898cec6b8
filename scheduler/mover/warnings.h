/* Log lines and events that tell people to look: a conflict with another
 * mover, and the pause after failures. */
#pragma once

#include "scheduler/kubevirt/migration.h"
#include "scheduler/mover/recorder.h"

#include <stdint.h>

/* Somebody else moves a VM away from source, to which the last move took it. */
void warnings_conflict(struct events *events, const struct migration *migration,
	const char *source, const struct move_record *last, int64_t now_us);

/* The event is about the VM whose move failed last. namespace: the one whose
 * moves are paused; NULL: all are. */
void warnings_pause(const struct recorder *recorder, const char *namespace,
	unsigned failures, int64_t now_us);
