/* Every change of a move's record: into the book, to the aggregators, into the
 * log, and as an event on the VMI. */
#pragma once

#include "scheduler/rebalance/move_book.h"

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
struct journal {
	struct move_book book;
	struct record_upload *upload; /* borrowed; NULL: none */
	struct events *events;	      /* borrowed; NULL: none */
	/* Changes into this state that this process made. */
	uint64_t counts[MOVE_STATES];
};

void journal_fini(struct journal *journal);

/* Adds a new record to the book alone: sets its id, revision and wall_us.
 * Returns the book's record, for journal_enter(). */
struct move_record *journal_add(struct journal *journal,
	const struct move_record *record, struct moment now);

/* The record is in another state now: counts it, logs it, sends it and creates
 * the event. */
void journal_enter(struct journal *journal, struct move_record *record,
	enum move_state state, struct moment now);

/* Other members of the record changed: sends it. */
void journal_update(struct journal *journal, struct move_record *record);
