#include "aggregator/store/maintenance.h"

#include "aggregator/store/compact.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/head.h"
#include "aggregator/store/thread.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t period_us = 5000000;
static const uint64_t again_us = 100000; /* there was more than one step took */

/* Of 150 KB each at 30 VMs a node. */
enum { STEP_BLOBS = 8, STEP_ROWS = 500 };

struct upkeep {
	struct sqlite3 *db;
	struct store_options options;
	struct compact *compact;
	struct scan *scan;
	uint64_t due_us;
	/* A part of the database that is being deleted. */
	bool is_dropping;
	enum store_tier dropped_tier;
	uint64_t dropped_ms;
};

int upkeep_new(struct upkeep **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err)
{
	struct upkeep *upkeep = xcalloc(1, sizeof(*upkeep));
	int r;

	upkeep->db = db;
	upkeep->options = *options;
	r = compact_new(&upkeep->compact, db, options->compact_us / 1000, err);
	if (r == 0) {
		r = scan_new(&upkeep->scan, db, err);
	}
	if (r < 0) {
		upkeep_free(upkeep);
		return r;
	}
	*out = upkeep;
	return 0;
}

void upkeep_free(struct upkeep *upkeep)
{
	if (upkeep != NULL) {
		compact_free(upkeep->compact);
		scan_free(upkeep->scan);
		free(upkeep);
	}
}

uint64_t upkeep_due_us(const struct upkeep *upkeep)
{
	return upkeep->due_us;
}

/* Times before this are to go. */
static uint64_t oldest_kept_ms(const struct upkeep *upkeep,
	enum store_tier tier, uint64_t now_ms)
{
	uint64_t kept_ms = upkeep->options.retention_us[tier] / 1000;

	return now_ms > kept_ms ? now_ms - kept_ms : 0;
}

static int delete_rows(struct upkeep *upkeep, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM tail WHERE id IN (SELECT id FROM tail"
		" WHERE id < %" PRId64 " ORDER BY id LIMIT %d)",
		tail_id(oldest_kept_ms(upkeep, STORE_RAW, now_ms), 0),
		STEP_ROWS);
	int r = store_db_exec(upkeep->db, sql, err);

	*is_idle = r == 0 && sqlite3_changes(upkeep->db) < STEP_ROWS;
	return r;
}

static int read_pages(uint64_t *count, struct sqlite3 *db, const char *pragma,
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = store_db_prepare(&statement, db, pragma, err);

	if (r == 0 && sqlite3_step(statement) == SQLITE_ROW) {
		*count = (uint64_t)sqlite3_column_int64(statement, 0);
	} else if (r == 0) {
		r = store_db_error(db, err, "cannot read");
	}
	(void)sqlite3_finalize(statement);
	return r;
}

/* What is in use of the file: it keeps its length when parts of it are free. */
static int used_bytes(uint64_t *bytes, struct sqlite3 *db, struct error *err)
{
	uint64_t pages = 0, unused = 0, size = 0;
	int r = read_pages(&pages, db, "PRAGMA page_count", err);

	if (r == 0) {
		r = read_pages(&unused, db, "PRAGMA freelist_count", err);
	}
	if (r == 0) {
		r = read_pages(&size, db, "PRAGMA page_size", err);
	}
	*bytes = (pages - unused) * size;
	return r;
}

static void begin_drop(struct upkeep *upkeep, enum store_tier tier,
	uint64_t from_ms)
{
	upkeep->is_dropping = true;
	upkeep->dropped_tier = tier;
	upkeep->dropped_ms = from_ms;
}

static int choose_by_age(struct upkeep *upkeep, uint64_t now_ms,
	struct error *err)
{
	int r = 0;

	for (enum store_tier tier = STORE_RAW;
		r == 0 && !upkeep->is_dropping && tier < STORE_TIERS; tier++) {
		struct part_span span = { 0 };

		r = part_find_span(&span, upkeep->db, tier, err);
		if (r == 0 && span.count > 0 &&
			span.from_ms + part_span_ms(tier) <=
				oldest_kept_ms(upkeep, tier, now_ms)) {
			begin_drop(upkeep, tier, span.from_ms);
		}
	}
	return r;
}

/* The oldest day of reports goes first, then that of minutes; the newest of
 * each stays. */
static int choose_by_size(struct upkeep *upkeep, struct error *err)
{
	char day[CLOCK_TEXT_MAX];
	uint64_t bytes = 0;
	int r = used_bytes(&bytes, upkeep->db, err);

	if (r < 0 || upkeep->options.max_bytes == 0 ||
		bytes <= upkeep->options.max_bytes) {
		return r;
	}
	for (enum store_tier tier = STORE_RAW;
		r == 0 && !upkeep->is_dropping && tier < STORE_1H; tier++) {
		struct part_span span = { 0 };

		r = part_find_span(&span, upkeep->db, tier, err);
		if (r == 0 && span.count > 1) {
			begin_drop(upkeep, tier, span.from_ms);
			log_warning(
				"the database is larger than it may be: its "
				"oldest day is deleted",
				log_str("what",
					tier == STORE_RAW ? "reports"
							  : "minutes"),
				log_str("day",
					clock_text(day, span.from_ms * 1000)),
				log_int("bytes", (int64_t)bytes), LOG_END);
		}
	}
	return r;
}

/* Of pods whose last series went. */
static int forget_places(struct upkeep *upkeep, uint64_t now_ms,
	struct error *err)
{
	uint64_t before_ms = UINT64_MAX;

	for (enum store_tier tier = STORE_RAW; tier < STORE_TIERS; tier++) {
		uint64_t oldest = oldest_kept_ms(upkeep, tier, now_ms);

		before_ms = oldest < before_ms ? oldest : before_ms;
	}
	return places_forget(upkeep->db, before_ms, err);
}

static int let_go(struct upkeep *upkeep, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	bool is_gone = false;
	int r = 0;

	if (!upkeep->is_dropping) {
		r = choose_by_age(upkeep, now_ms, err);
	}
	if (r == 0 && !upkeep->is_dropping) {
		r = choose_by_size(upkeep, err);
	}
	if (r < 0 || !upkeep->is_dropping) {
		return r;
	}
	*is_idle = false;
	r = part_drop_some(&is_gone, upkeep->db, upkeep->dropped_tier,
		upkeep->dropped_ms, STEP_BLOBS, err);
	if (r == 0 && is_gone) {
		upkeep->is_dropping = false;
		r = tail_forget_runs(upkeep->db,
			oldest_kept_ms(upkeep, STORE_RAW, now_ms), err);
	}
	return r == 0 && is_gone ? forget_places(upkeep, now_ms, err) : r;
}

/* All that deletes, in one transaction. */
static int delete_some(struct upkeep *upkeep, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	int r = store_db_exec(upkeep->db, "BEGIN IMMEDIATE", err);

	if (r == 0) {
		r = delete_rows(upkeep, is_idle, now_ms, err);
	}
	if (r == 0) {
		r = let_go(upkeep, is_idle, now_ms, err);
	}
	if (r == 0) {
		r = store_db_exec(upkeep->db, "COMMIT", err);
	}
	if (r < 0) {
		upkeep->is_dropping = false;
		store_db_rollback(upkeep->db);
	}
	return r;
}

int upkeep_step(struct upkeep *upkeep, struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	uint64_t now_ms = clock_wall_us() / 1000;
	bool is_packed = true, is_deleted = true, is_rolled = true;
	bool is_idle;
	int r;

	if (now_us < upkeep->due_us) {
		return 0;
	}
	r = delete_some(upkeep, &is_deleted, now_ms, err);
	if (r == 0) {
		r = compact_step(upkeep->compact, &is_packed, now_ms, err);
	}
	/* Not both in one step. */
	if (r == 0 && is_packed) {
		r = store_roll_up(upkeep->scan, upkeep->db, &is_rolled,
			upkeep->options.compact_us / 1000, now_ms, err);
	}
	is_idle = is_packed && is_deleted && is_rolled;
	upkeep->due_us = now_us + (r == 0 && !is_idle ? again_us : period_us);
	return r;
}
