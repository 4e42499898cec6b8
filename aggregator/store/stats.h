/* Counts and times of the store, for /metrics and the status. */
#pragma once

#include "aggregator/store/store.h"
#include "lib/histogram.h"

/* Reports that minutes and hours leave out (store/rollups.h). */
struct left_out {
	uint64_t hours;	  /* of a node, that were too large */
	uint64_t samples; /* of the pods of a node that named too many */
};

/* Since the store was opened. */
struct store_stats {
	/* The pages without the free ones: what --max-db-size limits. The
	 * writer's thread counts while it maintains the database.
	 * REPORT_UNKNOWN: not counted yet. */
	uint64_t database_bytes;
	uint64_t database_max_bytes; /* REPORT_UNKNOWN: there is no limit */
	bool is_damaged; /* damage was found; a start sets the file aside */
	struct left_out left_out;
	/* How long commits took, with those that failed: each from the first
	 * row of a group of batches to the end of its transaction. */
	struct histogram commits;
};

/* Seconds, from 1 ms to 8 s. */
extern const struct histogram_shape store_stats_commits;

/* Why the store is degraded, in words; "": it is not. Borrowed until the event
 * loop runs again. */
const char *store_complaint(const struct store *store);

/* Reads nothing from the disk. */
struct store_stats store_stats(struct store *store);
