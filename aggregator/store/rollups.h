/* Hours are rolled up once their reports are packed, and again when late ones
 * were; whoever asks before gets them made of the reports. Between the store's
 * own files. */
#pragma once

#include "aggregator/store/hour_scan.h"

/* Rolls up one hour of one node, if one is due, in a transaction of its own.
 * Due are hours that ended age_ms ago. *is_idle: none was. */
must_check int store_roll_up(struct scan *scan, struct sqlite3 *db,
	bool *is_idle, uint64_t age_ms, uint64_t now_ms, struct error *err);

/* Gives the minutes or the hour, by read->tier, of the range to read->rollup.
 * Inside the caller's transaction. *is_done: it wants no more. */
must_check int store_read_rollup(struct scan *scan, struct sqlite3 *db,
	bool *is_done, const struct store_read *read,
	const struct scan_range *range, struct error *err);

/* The same of a node and of all its pods; range->pod_uid is NULL. */
must_check int store_read_all_rollups(struct scan *scan, struct sqlite3 *db,
	bool *is_done, const struct store_read *read,
	const struct scan_range *range, struct error *err);
