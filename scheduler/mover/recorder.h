/* Every change of a move's record: into the records, to the aggregators, into
 * the log, and as an event on the VMI. */
#pragma once

#include "scheduler/rebalance/move_records.h"

#include <stdint.h>

struct events;
struct record_upload;

/* The same moment on both clocks. */
struct moment {
	int64_t now_us;	  /* monotonic */
	uint64_t wall_us; /* since 1970 */
};

struct moment moment_now(void);

/* Zeroed but for upload and events: ready. */
struct recorder {
	struct move_records records;
	struct record_upload *upload; /* borrowed; NULL: none */
	struct events *events;	      /* borrowed; NULL: none */
	/* Changes into this state that this process made. */
	uint64_t counts[MOVE_STATES];
};

void recorder_fini(struct recorder *recorder);

/* Adds a new record to the records alone: sets its id, revision and wall_us.
 * Returns the record kept there, for recorder_enter(). */
struct move_record *recorder_add(struct recorder *recorder,
	const struct move_record *record, struct moment now);

/* The record is in another state now: counts it, logs it, sends it and creates
 * the event. */
void recorder_enter(struct recorder *recorder, struct move_record *record,
	enum move_state state, struct moment now);

/* Other members of the record changed: sends it. */
void recorder_update(struct recorder *recorder, struct move_record *record);
