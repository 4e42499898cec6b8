#include "aggregator/store/maintenance.h"

#include "aggregator/store/compact.h"
#include "aggregator/store/db.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/retention_clock.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/size_limit.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

static const uint64_t period_us = 5000000;
static const uint64_t again_us = 100000; /* if a step left work */

/* The time that deletion has reached is stored each minute. A kill costs that
 * much of it, which the clock makes up for. */
static const uint64_t save_ms = 60000;

/* Deleting runs and pods reads their whole tables. It waits that long after a
 * start or a jump, too: a run that began while the clock was behind looks old,
 * and its rows need it until they are packed. */
static const uint64_t names_every_us = UINT64_C(6) * 3600 * 1000000;

/* A pause of more than this is logged. */
static const uint64_t pause_ms = 86400000;

struct maintenance {
	struct sqlite3 *db;
	struct store_options options;
	struct compact *compact;
	struct hour_scan *scan;
	struct size_limit *size_limit;
	struct retention_clock clock;
	uint64_t newest_ms; /* of the reports that were seen in the head */
	uint64_t saved_ms;  /* clock.reached_ms in the database */
	struct rollups rollups;
	uint64_t due_us;
	uint64_t names_due_us; /* when runs and pods are deleted next */
	bool is_pause_logged;
};

/* ---- the clock ---- */

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS retention(id INTEGER PRIMARY KEY,"
	" reached_ms INTEGER NOT NULL)";

/* A database without a stored time is new or of an earlier version. Its newest
 * report was stored by an earlier process, so a clock that has become wrong
 * since then does not count. */
static int read_clock(struct maintenance *maintenance, struct error *err)
{
	struct partition_span days = { 0 };
	int64_t reached = 0, newest = 0;
	int r = db_exec(maintenance->db, schema, err);

	if (r == 0) {
		r = db_read_number(&reached, maintenance->db,
			"SELECT reached_ms FROM retention", err);
	}
	if (r == 0 && reached == 0) {
		r = db_read_number(&newest, maintenance->db,
			"SELECT sample_ms FROM head ORDER BY id DESC LIMIT 1",
			err);
	}
	if (r == 0 && reached == 0 && newest == 0) {
		r = partition_find_span(&days, maintenance->db, STORE_RAW, err);
		newest = (int64_t)days.end_ms;
	}
	maintenance->saved_ms = (uint64_t)reached;
	maintenance->clock =
		retention_clock_at((uint64_t)(reached == 0 ? newest : reached));
	return r;
}

static int save_clock(struct maintenance *maintenance, struct error *err)
{
	uint64_t reached_ms = maintenance->clock.reached_ms;
	scoped_free char *sql = xasprintf(
		"INSERT OR REPLACE INTO retention VALUES (1, %" PRIu64 ")",
		reached_ms);
	int r;

	if (reached_ms < maintenance->saved_ms + save_ms) {
		return 0;
	}
	r = db_exec(maintenance->db, sql, err);
	maintenance->saved_ms = r == 0 ? reached_ms : maintenance->saved_ms;
	return r;
}

static void log_clock(struct maintenance *maintenance, int64_t jump_ms,
	uint64_t wall_ms)
{
	uint64_t reached_ms = maintenance->clock.reached_ms;
	char wall[CLOCK_TEXT_MAX], reached[CLOCK_TEXT_MAX];

	clock_text(wall, wall_ms * 1000);
	if (jump_ms != 0) {
		log_warning(jump_ms > 0
				? "the wall clock jumped ahead, or the machine "
				  "was suspended; nothing is deleted by age "
				  "until the clock has been steady for 10 min"
				: "the wall clock was set back; nothing is "
				  "deleted by age until the clock has been "
				  "steady for 10 min",
			log_num("seconds", (double)jump_ms / 1000),
			log_str("now", wall), LOG_END);
	}
	if (maintenance->clock.now_ms != 0 && !maintenance->is_pause_logged &&
		wall_ms > reached_ms + pause_ms) {
		maintenance->is_pause_logged = true;
		log_info(
			"no reports were stored for a while, or the wall clock "
			"is wrong: deletion by age catches up slowly",
			log_str("now", wall),
			log_str("deletes_as_of",
				clock_text(reached, reached_ms * 1000)),
			LOG_END);
	}
}

/* The head may be empty for a moment, after all of it was packed. */
static int update_clock(struct maintenance *maintenance,
	const struct maintenance_now *now, struct error *err)
{
	uint64_t newest_ms = 0;
	int64_t jump_ms;
	bool was_started;
	int r = head_find_newest(&newest_ms, maintenance->db, now->wall_ms,
		err);

	if (r < 0) {
		return r;
	}
	if (now->unstored_ms > newest_ms && now->unstored_ms <= now->wall_ms) {
		newest_ms = now->unstored_ms;
	}
	if (newest_ms > maintenance->newest_ms ||
		maintenance->newest_ms > now->wall_ms) {
		maintenance->newest_ms = newest_ms;
	}
	was_started = maintenance->clock.is_started;
	jump_ms = retention_clock_read(&maintenance->clock,
		&(struct retention_reading){ now->monotonic_us, now->wall_ms,
			maintenance->newest_ms });
	if (!was_started || jump_ms != 0) {
		maintenance->names_due_us = now->monotonic_us + names_every_us;
	}
	log_clock(maintenance, jump_ms, now->wall_ms);
	return 0;
}

/* ---- lifecycle ---- */

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
	if (r == 0) {
		r = size_limit_new(&maintenance->size_limit, db, options, err);
	}
	r = r == 0 ? read_clock(maintenance, err) : r;
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
		size_limit_free(maintenance->size_limit);
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

uint64_t maintenance_used_bytes(const struct maintenance *maintenance)
{
	return size_limit_used_bytes(maintenance->size_limit);
}

/* ---- deleting by age ---- */

/* Data before this time is too old; 0: none is. */
static uint64_t oldest_kept_ms(const struct maintenance *maintenance,
	uint64_t kept_us)
{
	uint64_t now_ms = maintenance->clock.now_ms;
	uint64_t kept_ms = kept_us / 1000;

	return now_ms > kept_ms ? now_ms - kept_ms : 0;
}

static uint64_t oldest_of_tier_ms(const struct maintenance *maintenance,
	enum store_tier tier)
{
	return oldest_kept_ms(maintenance,
		maintenance->options.retention_us[tier]);
}

static int delete_rows(struct maintenance *maintenance, bool *is_idle,
	struct error *err)
{
	struct head_deleted deleted = { 0 };
	uint64_t records_ms = oldest_kept_ms(maintenance,
		maintenance->options.decisions_kept_us);
	size_t decisions = 0, moves = 0;
	int r = head_delete_rows(&deleted, maintenance->db,
		oldest_of_tier_ms(maintenance, STORE_RAW), UINT64_MAX, err);

	if (r == 0) {
		r = record_table_delete_old(&decisions, maintenance->db,
			&decisions_table, records_ms, err);
	}
	if (r == 0) {
		r = record_table_delete_old(&moves, maintenance->db,
			&move_table_records, records_ms, err);
	}
	*is_idle = deleted.rows == 0 && decisions == 0 && moves == 0;
	return r;
}

/* Deletes the runs and pods that have no data. */
static int delete_names(struct maintenance *maintenance, uint64_t now_us,
	struct error *err)
{
	uint64_t before_ms = UINT64_MAX;
	int r;

	if (now_us < maintenance->names_due_us) {
		return 0;
	}
	maintenance->names_due_us = now_us + names_every_us;
	r = head_delete_runs(maintenance->db,
		oldest_of_tier_ms(maintenance, STORE_RAW), err);

	for (enum store_tier tier = STORE_RAW; tier < STORE_TIERS; tier++) {
		uint64_t oldest = oldest_of_tier_ms(maintenance, tier);

		before_ms = oldest < before_ms ? oldest : before_ms;
	}
	return r == 0 ? pod_nodes_delete(maintenance->db, before_ms, err) : r;
}

/* Blobs of one table. */
static int drop_partitions(struct maintenance *maintenance, bool *is_idle,
	struct error *err)
{
	struct partition_dropped dropped;
	int r = 0;

	*is_idle = true;
	for (enum store_tier tier = STORE_RAW;
		r == 0 && *is_idle && tier < STORE_TIERS; tier++) {
		struct partition_span span = { 0 };

		r = partition_find_span(&span, maintenance->db, tier, err);
		if (r == 0 && span.count > 0 &&
			span.from_ms + partition_span_ms(tier) <=
				oldest_of_tier_ms(maintenance, tier)) {
			*is_idle = false;
			r = partition_drop_some(&dropped, maintenance->db, tier,
				span.from_ms, UINT64_MAX, err);
		}
	}
	return r;
}

static int delete_by_age(struct maintenance *maintenance, bool *is_idle,
	uint64_t now_us, struct error *err)
{
	bool has_no_rows, has_no_blobs;
	int r;

	if (maintenance->clock.now_ms == 0) {
		return 0;
	}
	r = delete_rows(maintenance, &has_no_rows, err);
	r = r == 0 ? drop_partitions(maintenance, &has_no_blobs, err) : r;
	r = r == 0 ? delete_names(maintenance, now_us, err) : r;
	r = r == 0 ? save_clock(maintenance, err) : r;
	*is_idle = r == 0 && has_no_rows && has_no_blobs;
	return r;
}

/* ---- the steps ---- */

/* Deletes old data in one transaction. By size even while there is data that is
 * too old: late reports may keep coming. */
static int delete_some(struct maintenance *maintenance, bool *is_idle,
	const struct maintenance_now *now, struct error *err)
{
	const struct size_limit_now limit_now = { now->monotonic_us,
		maintenance->clock.now_ms == 0 ? UINT64_MAX : now->wall_ms };
	bool is_small = true;
	int r = db_exec(maintenance->db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? delete_by_age(maintenance, is_idle, now->monotonic_us, err)
		   : r;
	if (r == 0) {
		r = size_limit_step(maintenance->size_limit, &is_small,
			&limit_now, err);
	}
	*is_idle = *is_idle && is_small;
	return db_end(maintenance->db, r, err);
}

void maintenance_postpone(struct maintenance *maintenance, uint64_t now_us)
{
	maintenance->due_us = now_us + period_us;
}

int maintenance_step(struct maintenance *maintenance,
	const struct maintenance_now *now, struct error *err)
{
	bool is_packed = true, is_deleted = true, is_rolled = true;
	bool is_idle;
	int r;

	if (now->monotonic_us < maintenance->due_us) {
		return 0;
	}
	r = update_clock(maintenance, now, err);
	if (r == 0) {
		r = delete_some(maintenance, &is_deleted, now, err);
	}
	if (r == 0) {
		r = compact_step(maintenance->compact, &is_packed, now->wall_ms,
			err);
	}
	/* A step either packs or rolls up. */
	if (r == 0 && is_packed) {
		r = rollups_step(&maintenance->rollups, &is_rolled,
			now->wall_ms, err);
	}
	is_idle = is_packed && is_deleted && is_rolled;
	maintenance->due_us =
		now->monotonic_us + (r == 0 && !is_idle ? again_us : period_us);
	return r;
}
