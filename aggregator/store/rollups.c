#include "aggregator/store/rollups.h"

#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "lib/buffer.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

enum { BYTES_MAX = 32 << 20 };

static bool add_row(void *owner, const struct store_row *row)
{
	rollup_add(owner, row->run_id, row->sample_ms, row->report);
	return true;
}

/* Of the reports there are, with those just outside the hour that the intervals
 * across its ends need. */
static int make(struct rollup **out, struct scan *scan,
	const struct scan_range *of, uint64_t hour_ms, struct error *err)
{
	const uint64_t end_ms = hour_ms + STORE_HOUR_MS;
	const uint64_t parts[][2] = {
		{ hour_ms - ROLLUP_MARGIN_MS, hour_ms },
		{ hour_ms, end_ms },
		{ end_ms, end_ms + ROLLUP_MARGIN_MS },
	};
	struct rollup *rollup = rollup_new(hour_ms);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(parts); i++) {
		struct scan_range range = { of->node, of->name, of->pod_uid,
			parts[i][0], parts[i][1], FIELDS_RATES };
		bool is_done;

		r = scan_hour(scan, &is_done, &range, add_row, rollup, err);
	}
	if (r < 0) {
		rollup_free(rollup);
		return r;
	}
	*out = rollup;
	return 0;
}

/* ---- reading ---- */

/* Where series go. */
struct taker {
	const struct store_read *read;
	const struct scan_range *range;
	size_t given;
	bool is_done;
};

static void take(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count)
{
	struct taker *taker = owner;
	const struct store_read *read = taker->read;
	const struct scan_range *range = taker->range;
	struct store_rollup out = { .node = range->name, .pod_uid = pod_uid };

	for (size_t i = 0; !taker->is_done && i < count; i++) {
		/* Of an hour's row some part is in the range. */
		if (read->tier == STORE_1H ||
			(rows[i].from_ms >= range->from_ms &&
				rows[i].from_ms < range->to_ms)) {
			out.row = &rows[i];
			taker->is_done = !read->rollup(read->owner, &out);
			taker->given++;
		}
	}
}

static int read_packed(bool *is_packed, struct taker *taker, struct sqlite3 *db,
	const char *pod_uid, struct error *err)
{
	const struct scan_range *range = taker->range;
	uint64_t hour_ms = range->from_ms / STORE_HOUR_MS * STORE_HOUR_MS;
	struct part_reader parts = { .tier = taker->read->tier };
	struct sqlite3_stmt *statement;
	struct error error;
	int r = part_select(&statement, &parts, db, range->node, hour_ms, err);

	*is_packed = false;
	if (r == 0 && statement != NULL &&
		sqlite3_step(statement) == SQLITE_ROW) {
		*is_packed = rollup_unpack(sqlite3_column_blob(statement, 0),
				     (size_t)sqlite3_column_bytes(statement, 0),
				     pod_uid, take, taker, &error) == 0;
		if (!*is_packed) {
			log_error("an hour's rollup is damaged",
				log_str("node", range->name), log_err(&error),
				LOG_END);
		}
	}
	part_reader_fini(&parts);
	return r;
}

static int read_made(struct taker *taker, struct scan *scan,
	const char *pod_uid, struct error *err)
{
	const struct scan_range *range = taker->range;
	uint64_t hour_ms = range->from_ms / STORE_HOUR_MS * STORE_HOUR_MS;
	struct rollup_row rows[ROLLUP_ROWS];
	struct rollup *rollup;
	int r = make(&rollup, scan, range, hour_ms, err);

	if (r < 0) {
		return r;
	}
	for (size_t s = 0; s < rollup_series_count(rollup); s++) {
		const char *uid = rollup_series_uid(rollup, s);

		if (pod_uid == NULL || strcmp(uid, pod_uid) == 0) {
			take(taker, uid, rows,
				rollup_rows(rows, rollup, s,
					taker->read->tier == STORE_1H));
		}
	}
	rollup_free(rollup);
	return 0;
}

static int read_hour(struct taker *taker, struct scan *scan, struct sqlite3 *db,
	const char *pod_uid, struct error *err)
{
	bool is_packed;
	int r = read_packed(&is_packed, taker, db, pod_uid, err);

	/* What is damaged behind something good is lost: made anew, the good
	 * would be there twice. */
	if (r == 0 && !is_packed && taker->given == 0) {
		r = read_made(taker, scan, pod_uid, err);
	}
	return r;
}

int store_read_rollup(struct scan *scan, struct sqlite3 *db, bool *is_done,
	const struct store_read *read, const struct scan_range *range,
	struct error *err)
{
	struct taker taker = { .read = read, .range = range };
	int r = read_hour(&taker, scan, db,
		range->pod_uid == NULL ? "" : range->pod_uid, err);

	*is_done |= taker.is_done;
	return r;
}

int store_read_all_rollups(struct scan *scan, struct sqlite3 *db, bool *is_done,
	const struct store_read *read, const struct scan_range *range,
	struct error *err)
{
	struct taker taker = { .read = read, .range = range };
	int r = read_hour(&taker, scan, db, NULL, err);

	*is_done |= taker.is_done;
	return r;
}

/* ---- rolling up ---- */

/* The hour that has waited longest. node is 0 if none is due. */
static int find_due(int64_t due[2], struct sqlite3 *db, uint64_t before_hour,
	struct error *err)
{
	struct sqlite3_stmt *find = NULL;
	int r = store_db_prepare(&find, db,
		"SELECT hour, node FROM rollup_due WHERE hour < ?"
		" ORDER BY hour, node LIMIT 1",
		err);

	due[0] = due[1] = 0;
	if (r == 0) {
		(void)sqlite3_bind_int64(find, 1, (int64_t)before_hour);
		if (sqlite3_step(find) == SQLITE_ROW) {
			due[0] = sqlite3_column_int64(find, 0);
			due[1] = sqlite3_column_int64(find, 1);
		}
	}
	(void)sqlite3_finalize(find);
	return r;
}

/* Where a pod was, and when: by uid alone a reader then finds its node. */
static int note_places(const struct rollup *rollup, struct sqlite3 *db,
	int64_t node, uint64_t hour_ms, struct error *err)
{
	struct places *places;
	int r = places_new(&places, db, err);

	if (r < 0) {
		return r;
	}
	for (size_t s = 1; r == 0 && s < rollup_series_count(rollup); s++) {
		r = places_note(places,
			&(struct place_seen){ rollup_series_uid(rollup, s),
				node, hour_ms, hour_ms + STORE_HOUR_MS },
			err);
	}
	places_free(places);
	return r;
}

static int put(const struct rollup *rollup, struct sqlite3 *db,
	enum store_tier tier, int64_t node, uint64_t hour_ms, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BYTES_MAX);
	struct part_blob blob = { .node = node,
		.from_ms = hour_ms,
		.to_ms = hour_ms + STORE_HOUR_MS };
	int r = part_forget(db, tier, node, hour_ms, err);

	rollup_pack(&body, rollup, tier == STORE_1H);
	blob.body = body.data;
	blob.len = body.len;
	return r < 0 ? r : part_add(db, tier, &blob, err);
}

/* Milliseconds that the node's intervals cover of the hour. */
static uint32_t coverage(const struct rollup *rollup)
{
	struct rollup_row rows[ROLLUP_ROWS];

	return rollup_rows(rows, rollup, 0, true) == 0 ? 0 : rows[0].covered_ms;
}

static bool take_coverage(void *owner, const struct store_rollup *hour)
{
	uint32_t *covered_ms = owner;

	*covered_ms = hour->row->covered_ms;
	return false;
}

/* The reports of an hour may have been let go of since it was rolled up: what
 * is there then says more than those that came late. */
static int is_poorer(bool *out, const struct rollup *rollup, struct sqlite3 *db,
	const struct scan_range *range, struct error *err)
{
	uint32_t covered_ms = 0;
	const struct store_read read = { .tier = STORE_1H,
		.rollup = take_coverage,
		.owner = &covered_ms };
	struct taker taker = { .read = &read, .range = range };
	bool is_packed;
	int r = read_packed(&is_packed, &taker, db, "", err);

	*out = is_packed && covered_ms > coverage(rollup);
	return r;
}

static int roll_up(struct scan *scan, struct sqlite3 *db, const int64_t due[2],
	struct error *err)
{
	uint64_t hour_ms = (uint64_t)due[0] * STORE_HOUR_MS;
	struct scan_range range = { due[1], "", NULL, hour_ms,
		hour_ms + STORE_HOUR_MS, FIELDS_RATES };
	scoped_free char *sql = xasprintf(
		"DELETE FROM rollup_due WHERE hour = %lld AND node = %lld",
		(long long)due[0], (long long)due[1]);
	struct rollup *rollup = NULL;
	bool keeps_old = false;
	int r = make(&rollup, scan, &range, hour_ms, err);

	if (r == 0) {
		r = is_poorer(&keeps_old, rollup, db, &range, err);
	}
	if (r == 0 && !keeps_old) {
		r = put(rollup, db, STORE_1M, due[1], hour_ms, err);
	}
	if (r == 0 && !keeps_old) {
		r = put(rollup, db, STORE_1H, due[1], hour_ms, err);
	}
	if (r == 0) {
		r = note_places(rollup, db, due[1], hour_ms, err);
	}
	rollup_free(rollup);
	return r < 0 ? r : store_db_exec(db, sql, err);
}

int store_roll_up(struct scan *scan, struct sqlite3 *db, bool *is_idle,
	uint64_t age_ms, uint64_t now_ms, struct error *err)
{
	int64_t due[2] = { 0 };
	uint64_t ended_ms = now_ms > age_ms ? now_ms - age_ms : 0;
	int r = store_db_exec(db, "BEGIN IMMEDIATE", err);

	if (r == 0) {
		r = find_due(due, db, ended_ms / STORE_HOUR_MS, err);
	}
	*is_idle = r == 0 && due[1] == 0;
	if (r == 0 && !*is_idle) {
		r = roll_up(scan, db, due, err);
	}
	if (r == 0) {
		r = store_db_exec(db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(db);
	}
	return r;
}
