/* The newest report of each node, read when the store is opened. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

struct sqlite3;

struct last_report {
	char *node;
	int64_t number; /* of the node, in the database */
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t sample_ms; /* UINT64_MAX: the node has no report */
	struct report report;
};

struct last_reports { /* zeroed is empty */
	struct last_report *list;
	size_t count, capacity;
};

/* Reports that are dated after now_ms, the wall clock's time, do not count: the
 * clock was ahead, so their age is not known. out is freed by the caller, also
 * after an error. */
must_check int last_reports_read(struct last_reports *out, struct sqlite3 *db,
	uint64_t now_ms, struct error *err);
void last_reports_fini(struct last_reports *reports);
