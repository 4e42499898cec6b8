/* A node's reports of one hour, from rows and chunks alike, in the order of
 * their times. Between the store's own files.
 *
 * Whatever moves from rows to chunks stays within its hour, so that a reader
 * that looks at an hour in one transaction sees each report once. */
#pragma once

#include "aggregator/store/thread.h"

struct scan;

must_check int scan_new(struct scan **out, struct sqlite3 *db,
	struct error *err);
void scan_free(struct scan *scan); /* NULL is fine */

struct scan_range {
	int64_t node;
	const char *name;	 /* the node's */
	const char *pod_uid;	 /* NULL: all pods */
	uint64_t from_ms, to_ms; /* within one hour of unix time */
	unsigned int parts;	 /* enum fields_part: what reports must hold */
};

/* Calls row for each report, inside the caller's transaction; false ends it.
 * A chunk that is damaged is left out, with a line in the log. *is_done: row
 * wants no more. */
must_check int scan_hour(struct scan *scan, bool *is_done,
	const struct scan_range *range,
	bool (*row)(void *owner, const struct store_row *row), void *owner,
	struct error *err);
