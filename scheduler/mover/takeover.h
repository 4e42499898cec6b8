/* Our migrations that no record tells of, because the leader that ordered them
 * ended before an aggregator had stored the record: their records are made
 * again. */
#pragma once

#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/recorder.h"

#include <stdbool.h>

struct cache;

/* The record's migration: the same id, namespace and VM. */
bool move_is_of(const struct move_record *record,
	const struct migration *migration);

/* Zeroed but for the first three, which are borrowed: ready. */
struct takeover {
	struct recorder *recorder;
	struct kubevirt *kubevirt;
	const struct cache *cache;
	int64_t cancel_us; /* the last cancellations */
};

/* To be called about every second, once the records of earlier leaders, the
 * migrations and the VMIs are known. Cancels the migrations of moves that have
 * ended, again and again until they are gone. */
void takeover_tick(struct takeover *takeover, struct moment now);
