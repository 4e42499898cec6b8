/* The reports of one node and hour, from rows and chunks, ordered by time.
 *
 * Reports move from rows to a chunk within their hour, so a reader that reads
 * an hour in one transaction sees each report once.
 *
 * An agent chooses the size of an hour. Few chunks are decoded at a time
 * (store/open_chunks.h), and at most HOUR_SCAN_REPORTS reports are listed; a
 * longer list is read in parts. */
#pragma once

#include "aggregator/store/db.h"
#include "aggregator/store/store.h"

enum { HOUR_SCAN_REPORTS = 1 << 16 };

struct hour_scan;

must_check int hour_scan_new(struct hour_scan **out, struct sqlite3 *db,
	struct error *err);
void hour_scan_free(struct hour_scan *scan); /* NULL is fine */

struct hour_scan_range {
	int64_t node;
	const char *name;	 /* the node's */
	const char *pod_uid;	 /* NULL: all pods */
	uint64_t from_ms, to_ms; /* within one hour of unix time */
	unsigned int parts;	 /* enum schema_part: what reports must hold */
};

struct hour_scan_size {
	uint64_t chunk_bytes, row_bytes; /* as they are stored */
};

/* The bytes that there are to read. A chunk counts whole. Inside the caller's
 * transaction. */
must_check int hour_scan_measure(struct hour_scan_size *out,
	struct hour_scan *scan, const struct hour_scan_range *range,
	struct error *err);

/* Calls row for each report; false ends the scan and sets *is_done. A damaged
 * chunk is logged and left out. Inside the caller's transaction. -EFBIG: the
 * chunks alternate too often, or more than HOUR_SCAN_REPORTS in one ms. */
must_check int hour_scan_read(struct hour_scan *scan, bool *is_done,
	const struct hour_scan_range *range,
	bool (*row)(void *owner, const struct store_row *row), void *owner,
	struct error *err);
