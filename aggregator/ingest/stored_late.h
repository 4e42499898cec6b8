/* Reports that were stored after their batch was acknowledged as received.
 *
 * If commits take longer than an agent waits for its Ack, every batch is only
 * acknowledged as received, and would be again each time it is resent. The
 * reports remembered here are stored and need not be written again. The table
 * is in memory and bounded; a report that it forgets is written once more. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Runs of agents; then the run without additions for the longest time
	 * is forgotten. */
	STORED_LATE_RUNS_MAX = 4096,
	/* Spans of successive seqs per run; then the first is forgotten. */
	STORED_LATE_SPANS_MAX = 64,
};

struct stored_late;

struct stored_late *stored_late_new(void);
void stored_late_free(struct stored_late *table); /* NULL is fine */

/* This report is on disk. run_id has REPORT_RUN_ID_BYTES. */
void stored_late_add(struct stored_late *table, const char *node,
	const uint8_t *run_id, uint64_t seq);

/* True: the report was added and is not forgotten. */
bool stored_late_has(const struct stored_late *table, const char *node,
	const uint8_t *run_id, uint64_t seq);
