/* Rolled-up minutes and hours. An hour is rolled up after its reports were
 * packed, and again after late reports were packed. A reader of an hour that is
 * not rolled up yet gets rollups computed from its reports.
 *
 * An hour of a node that is too large is not rolled up, and a reader of its
 * minutes gets none: more than ROLLUPS_CHUNK_BYTES or ROLLUPS_ROW_BYTES of
 * reports, more samples than a rollup holds (series/rollup.h), or a rollup that
 * does not fit into its blob. Its reports stay readable. */
#pragma once

#include "aggregator/store/computed_hours.h"
#include "aggregator/store/hour_scan.h"
#include "aggregator/store/stats.h"
#include "lib/log.h"

enum {
	/* An hour of 500 VMs with a report each second has 20 MB in chunks and
	 * 200 MB in rows. */
	ROLLUPS_CHUNK_BYTES = 64 << 20,
	ROLLUPS_ROW_BYTES = 256 << 20,
};

struct rollups {
	struct sqlite3 *db; /* both borrowed */
	struct hour_scan *scan;
	uint64_t age_ms; /* an hour is due so long after its end */
	struct left_out left_out;
	struct log_topics log_limits;
};

/* Rolls up one hour of one node, if one is due, in a transaction of its own.
 * *is_idle: none was due. */
must_check int rollups_step(struct rollups *rollups, bool *is_idle,
	uint64_t now_ms, struct error *err);

/* A reader's means. All are borrowed. */
struct rollups_source {
	struct sqlite3 *db;
	struct hour_scan *scan;
	struct computed_hours *computed; /* NULL: none are kept */
	uint64_t now_us;		 /* monotonic, for these */
};

/* Passes the minutes or the hour of the range, by read->tier, to read->rollup.
 * *is_done: the callback ended the query. Inside the caller's transaction. */
must_check int rollups_read(const struct rollups_source *source, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err);

/* The same for a node and all its pods; range->pod_uid is NULL. */
must_check int rollups_read_all(const struct rollups_source *source,
	bool *is_done, const struct store_read *read,
	const struct hour_scan_range *range, struct error *err);
