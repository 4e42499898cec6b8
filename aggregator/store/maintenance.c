#include "aggregator/store/maintenance.h"

#include "aggregator/store/compact.h"
#include "aggregator/store/db.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/rollups.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t period_us = 5000000;
static const uint64_t again_us = 100000; /* if a step left work */

/* Limits of a step; a blob has 150 KB at 30 VMs a node. */
enum { STEP_BLOBS = 8, STEP_ROWS = 500 };

struct maintenance {
	struct sqlite3 *db;
	struct store_options options;
	struct compact *compact;
	struct hour_scan *scan;
	struct rollups rollups;
	uint64_t due_us;
	bool is_dropping; /* the partition below */
	enum store_tier dropped_tier;
	uint64_t dropped_ms;
};

int maintenance_new(struct maintenance **out, struct sqlite3 *db,
	const struct store_options *options, struct error *err)
{
	struct maintenance *maintenance = xcalloc(1, sizeof(*maintenance));
	int r;

	maintenance->db = db;
	maintenance->options = *options;
	r = compact_new(&maintenance->compact, db, options->compact_us / 1000,
		err);
	r = r == 0 ? hour_scan_new(&maintenance->scan, db, err) : r;
	if (r < 0) {
		maintenance_free(maintenance);
		return r;
	}
	maintenance->rollups = (struct rollups){ .db = db,
		.scan = maintenance->scan,
		.age_ms = options->compact_us / 1000 };
	*out = maintenance;
	return 0;
}

void maintenance_free(struct maintenance *maintenance)
{
	if (maintenance != NULL) {
		compact_free(maintenance->compact);
		hour_scan_free(maintenance->scan);
		free(maintenance);
	}
}

uint64_t maintenance_due_us(const struct maintenance *maintenance)
{
	return maintenance->due_us;
}

struct left_out maintenance_left_out(const struct maintenance *maintenance)
{
	return maintenance->rollups.left_out;
}

/* Data before this time is too old. */
static uint64_t oldest_kept_ms(const struct maintenance *maintenance,
	enum store_tier tier, uint64_t now_ms)
{
	uint64_t kept_ms = maintenance->options.retention_us[tier] / 1000;

	return now_ms > kept_ms ? now_ms - kept_ms : 0;
}

static int delete_rows(struct maintenance *maintenance, bool *is_idle,
	uint64_t now_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM tail WHERE id IN (SELECT id FROM tail"
		" WHERE id < %" PRId64 " ORDER BY id LIMIT %d)",
		head_id(oldest_kept_ms(maintenance, STORE_RAW, now_ms), 0),
		STEP_ROWS);
	int r = db_exec(maintenance->db, sql, err);

	*is_idle = r == 0 && sqlite3_changes(maintenance->db) < STEP_ROWS;
	return r;
}

/* The file without its free pages: deleting does not make a file shorter. */
static int used_bytes(uint64_t *bytes, struct sqlite3 *db, struct error *err)
{
	int64_t pages = 0, unused = 0, size = 0;
	int r = db_read_number(&pages, db, "PRAGMA page_count", err);

	if (r == 0) {
		r = db_read_number(&unused, db, "PRAGMA freelist_count", err);
	}
	r = r == 0 ? db_read_number(&size, db, "PRAGMA page_size", err) : r;
	*bytes = (uint64_t)((pages - unused) * size);
	return r;
}

static void begin_drop(struct maintenance *maintenance, enum store_tier tier,
	uint64_t from_ms)
{
	maintenance->is_dropping = true;
	maintenance->dropped_tier = tier;
	maintenance->dropped_ms = from_ms;
}

static int choose_by_age(struct maintenance *maintenance, uint64_t now_ms,
	struct error *err)
{
	int r = 0;

	for (enum store_tier tier = STORE_RAW;
		r == 0 && !maintenance->is_dropping && tier < STORE_TIERS;
		tier++) {
		struct partition_span span = { 0 };

		r = partition_find_span(&span, maintenance->db, tier, err);
		if (r == 0 && span.count > 0 &&
			span.from_ms + partition_span_ms(tier) <=
				oldest_kept_ms(maintenance, tier, now_ms)) {
			begin_drop(maintenance, tier, span.from_ms);
		}
	}
	return r;
}

/* Chooses the oldest day of reports, or of minutes if only one day of reports
 * is left. The newest day of each tier stays. */
static int choose_by_size(struct maintenance *maintenance, struct error *err)
{
	char day[CLOCK_TEXT_MAX];
	uint64_t bytes = 0;
	int r = used_bytes(&bytes, maintenance->db, err);

	if (r < 0 || maintenance->options.max_bytes == 0 ||
		bytes <= maintenance->options.max_bytes) {
		return r;
	}
	for (enum store_tier tier = STORE_RAW;
		r == 0 && !maintenance->is_dropping && tier < STORE_1H;
		tier++) {
		struct partition_span span = { 0 };

		r = partition_find_span(&span, maintenance->db, tier, err);
		if (r == 0 && span.count > 1) {
			begin_drop(maintenance, tier, span.from_ms);
			log_warning(
				"database exceeds its size limit, deleting its "
				"oldest day",
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

/* Deletes what is stored of pods without data. */
static int delete_pods(struct maintenance *maintenance, uint64_t now_ms,
	struct error *err)
{
	uint64_t before_ms = UINT64_MAX;

	for (enum store_tier tier = STORE_RAW; tier < STORE_TIERS; tier++) {
		uint64_t oldest = oldest_kept_ms(maintenance, tier, now_ms);

		before_ms = oldest < before_ms ? oldest : before_ms;
	}
	return pod_nodes_delete(maintenance->db, before_ms, err);
}

static int drop_partitions(struct maintenance *maintenance, bool *is_idle,
	uint64_t now_ms, struct error *err)
{
	bool is_gone = false;
	int r = 0;

	if (!maintenance->is_dropping) {
		r = choose_by_age(maintenance, now_ms, err);
	}
	if (r == 0 && !maintenance->is_dropping) {
		r = choose_by_size(maintenance, err);
	}
	if (r < 0 || !maintenance->is_dropping) {
		return r;
	}
	*is_idle = false;
	r = partition_drop_some(&is_gone, maintenance->db,
		maintenance->dropped_tier, maintenance->dropped_ms, STEP_BLOBS,
		err);
	if (r == 0 && is_gone) {
		maintenance->is_dropping = false;
		r = head_delete_runs(maintenance->db,
			oldest_kept_ms(maintenance, STORE_RAW, now_ms), err);
	}
	return r == 0 && is_gone ? delete_pods(maintenance, now_ms, err) : r;
}

/* Deletes old data in one transaction. */
static int delete_some(struct maintenance *maintenance, bool *is_idle,
	uint64_t now_ms, struct error *err)
{
	int r = db_exec(maintenance->db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? delete_rows(maintenance, is_idle, now_ms, err) : r;
	r = r == 0 ? drop_partitions(maintenance, is_idle, now_ms, err) : r;
	r = db_end(maintenance->db, r, err);
	maintenance->is_dropping = maintenance->is_dropping && r == 0;
	return r;
}

int maintenance_step(struct maintenance *maintenance, struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	uint64_t now_ms = clock_wall_us() / 1000;
	bool is_packed = true, is_deleted = true, is_rolled = true;
	bool is_idle;
	int r;

	if (now_us < maintenance->due_us) {
		return 0;
	}
	r = delete_some(maintenance, &is_deleted, now_ms, err);
	if (r == 0) {
		r = compact_step(maintenance->compact, &is_packed, now_ms, err);
	}
	/* A step either packs or rolls up. */
	if (r == 0 && is_packed) {
		r = rollups_step(&maintenance->rollups, &is_rolled, now_ms,
			err);
	}
	is_idle = is_packed && is_deleted && is_rolled;
	maintenance->due_us =
		now_us + (r == 0 && !is_idle ? again_us : period_us);
	return r;
}
