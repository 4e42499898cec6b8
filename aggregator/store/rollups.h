/* Rolled-up minutes and hours. An hour is rolled up after its reports were
 * packed, and again after late reports were packed. A reader of an hour that is
 * not rolled up yet gets rollups computed from its reports. */
#pragma once

#include "aggregator/store/hour_scan.h"

/* Rolls up one hour of one node, if one is due, in a transaction of its own. An
 * hour is due age_ms after its end. *is_idle: none was due. */
must_check int rollups_step(struct hour_scan *scan, struct sqlite3 *db,
	bool *is_idle, uint64_t age_ms, uint64_t now_ms, struct error *err);

/* Passes the minutes or the hour of the range, by read->tier, to read->rollup.
 * *is_done: the callback ended the query. Inside the caller's transaction. */
must_check int rollups_read(struct hour_scan *scan, struct sqlite3 *db,
	bool *is_done, const struct store_read *read,
	const struct hour_scan_range *range, struct error *err);

/* The same for a node and all its pods; range->pod_uid is NULL. */
must_check int rollups_read_all(struct hour_scan *scan, struct sqlite3 *db,
	bool *is_done, const struct store_read *read,
	const struct hour_scan_range *range, struct error *err);
