#include "aggregator/store/rollups.h"

#include "aggregator/codec/rollup_pack.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "lib/buffer.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <sqlite3.h>
#include <string.h>

enum { BYTES_MAX = 32 << 20 };

static bool add_row(void *owner, const struct store_row *row)
{
	rollup_add(owner, row->run_id, row->sample_ms, row->report);
	return true;
}

/* Computes a rollup from the reports of the hour, and from those just outside
 * of it, for the intervals across its ends. */
static int compute(struct rollup **out, struct hour_scan *scan,
	const struct hour_scan_range *of, uint64_t hour_ms, struct error *err)
{
	const uint64_t end_ms = hour_ms + PARTITION_HOUR_MS;
	const uint64_t ranges[][2] = {
		{ hour_ms - ROLLUP_MARGIN_MS, hour_ms },
		{ hour_ms, end_ms },
		{ end_ms, end_ms + ROLLUP_MARGIN_MS },
	};
	struct rollup *rollup = rollup_new(hour_ms);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(ranges); i++) {
		struct hour_scan_range range = { of->node, of->name,
			of->pod_uid, ranges[i][0], ranges[i][1], SCHEMA_RATES };
		bool is_done;

		r = hour_scan_read(scan, &is_done, &range, add_row, rollup,
			err);
	}
	if (r < 0) {
		rollup_free(rollup);
		return r;
	}
	*out = rollup;
	return 0;
}

/* ---- reading ---- */

/* Passes rows in the range on to the caller. */
struct filter {
	const struct store_read *read;
	const struct hour_scan_range *range;
	size_t delivered;
	bool is_done;
};

static void deliver(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count)
{
	struct filter *filter = owner;
	const struct store_read *read = filter->read;
	const struct hour_scan_range *range = filter->range;
	struct store_rollup out = { .node = range->name, .pod_uid = pod_uid };

	for (size_t i = 0; !filter->is_done && i < count; i++) {
		/* The range overlaps the row of an hour. */
		if (read->tier == STORE_1H ||
			(rows[i].from_ms >= range->from_ms &&
				rows[i].from_ms < range->to_ms)) {
			out.row = &rows[i];
			filter->is_done = !read->rollup(read->owner, &out);
			filter->delivered++;
		}
	}
}

static int read_packed(bool *is_packed, struct filter *filter,
	struct sqlite3 *db, const char *pod_uid, struct error *err)
{
	const struct hour_scan_range *range = filter->range;
	struct partition_reader partitions = { .tier = filter->read->tier };
	struct sqlite3_stmt *statement;
	struct error error;
	int r = partition_select(&statement, &partitions, db, range->node,
		partition_hour(range->from_ms), err);

	*is_packed = false;
	if (r == 0 && statement != NULL &&
		sqlite3_step(statement) == SQLITE_ROW) {
		*is_packed = rollup_unpack(sqlite3_column_blob(statement, 0),
				     (size_t)sqlite3_column_bytes(statement, 0),
				     pod_uid, deliver, filter, &error) == 0;
		if (!*is_packed) {
			log_error("damaged rollup of an hour",
				log_str("node", range->name), log_err(&error),
				LOG_END);
		}
	}
	partition_reader_fini(&partitions);
	return r;
}

static int read_computed(struct filter *filter, struct hour_scan *scan,
	const char *pod_uid, struct error *err)
{
	const struct hour_scan_range *range = filter->range;
	struct rollup_row rows[ROLLUP_ROWS];
	struct rollup *rollup;
	int r = compute(&rollup, scan, range, partition_hour(range->from_ms),
		err);

	if (r < 0) {
		return r;
	}
	for (size_t s = 0; s < rollup_series_count(rollup); s++) {
		const char *uid = rollup_series_uid(rollup, s);

		if (pod_uid == NULL || strcmp(uid, pod_uid) == 0) {
			deliver(filter, uid, rows,
				rollup_rows(rows, rollup, s,
					filter->read->tier == STORE_1H));
		}
	}
	rollup_free(rollup);
	return 0;
}

/* The series of pod_uid; "": the node; NULL: all. */
static int read_hour(struct filter *filter, struct hour_scan *scan,
	struct sqlite3 *db, bool *is_done, const char *pod_uid,
	struct error *err)
{
	bool is_packed;
	int r = read_packed(&is_packed, filter, db, pod_uid, err);

	/* If the damage is behind rows that were delivered, the rest is lost:
	 * computing the hour would deliver those rows twice. */
	if (r == 0 && !is_packed && filter->delivered == 0) {
		r = read_computed(filter, scan, pod_uid, err);
	}
	*is_done |= filter->is_done;
	return r;
}

int rollups_read(struct hour_scan *scan, struct sqlite3 *db, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err)
{
	struct filter filter = { .read = read, .range = range };

	return read_hour(&filter, scan, db, is_done,
		range->pod_uid == NULL ? "" : range->pod_uid, err);
}

int rollups_read_all(struct hour_scan *scan, struct sqlite3 *db, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err)
{
	struct filter filter = { .read = read, .range = range };

	return read_hour(&filter, scan, db, is_done, NULL, err);
}

/* ---- rolling up ---- */

/* Hour and node of the oldest due hour; the node is 0 if none is due. */
static int find_due(int64_t due[2], struct sqlite3 *db, uint64_t before_hour,
	struct error *err)
{
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, db,
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

/* Notes where the pods were, so that a reader finds the nodes of a pod. */
static int note_pod_nodes(const struct rollup *rollup, struct sqlite3 *db,
	int64_t node, uint64_t hour_ms, struct error *err)
{
	struct pod_nodes *pod_nodes;
	int r = pod_nodes_new(&pod_nodes, db, err);

	if (r < 0) {
		return r;
	}
	for (size_t s = 1; r == 0 && s < rollup_series_count(rollup); s++) {
		r = pod_nodes_note(pod_nodes,
			&(struct pod_node_seen){ rollup_series_uid(rollup, s),
				node, hour_ms, hour_ms + PARTITION_HOUR_MS },
			err);
	}
	pod_nodes_free(pod_nodes);
	return r;
}

static int put(const struct rollup *rollup, struct sqlite3 *db,
	enum store_tier tier, int64_t node, uint64_t hour_ms, struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BYTES_MAX);
	struct partition_blob blob = { .node = node,
		.from_ms = hour_ms,
		.to_ms = hour_ms + PARTITION_HOUR_MS };
	int r = partition_delete(db, tier, node, hour_ms, err);

	rollup_pack(&body, rollup, tier == STORE_1H);
	blob.body = body.data;
	blob.len = body.len;
	return r < 0 ? r : partition_add(db, tier, &blob, err);
}

/* The covered milliseconds of the node's hour. */
static uint32_t coverage(const struct rollup *rollup)
{
	struct rollup_row rows[ROLLUP_ROWS];

	return rollup_rows(rows, rollup, 0, true) == 0 ? 0 : rows[0].covered_ms;
}

static bool on_coverage(void *owner, const struct store_rollup *hour)
{
	uint32_t *covered_ms = owner;

	*covered_ms = hour->row->covered_ms;
	return false;
}

/* Since the hour was rolled up, its reports may have been deleted. The old
 * rollup then covers more than one that is made of late reports alone. */
static int covers_less(bool *out, const struct rollup *rollup,
	struct sqlite3 *db, const struct hour_scan_range *range,
	struct error *err)
{
	uint32_t covered_ms = 0;
	const struct store_read read = { .tier = STORE_1H,
		.rollup = on_coverage,
		.owner = &covered_ms };
	struct filter filter = { .read = &read, .range = range };
	bool is_packed;
	int r = read_packed(&is_packed, &filter, db, "", err);

	*out = is_packed && covered_ms > coverage(rollup);
	return r;
}

static int roll_up(struct hour_scan *scan, struct sqlite3 *db,
	const int64_t due[2], struct error *err)
{
	uint64_t hour_ms = (uint64_t)due[0] * PARTITION_HOUR_MS;
	struct hour_scan_range range = { due[1], "", NULL, hour_ms,
		hour_ms + PARTITION_HOUR_MS, SCHEMA_RATES };
	scoped_free char *sql = xasprintf(
		"DELETE FROM rollup_due WHERE hour = %lld AND node = %lld",
		(long long)due[0], (long long)due[1]);
	struct rollup *rollup = NULL;
	bool keeps_old = false;
	int r = compute(&rollup, scan, &range, hour_ms, err);

	r = r == 0 ? covers_less(&keeps_old, rollup, db, &range, err) : r;
	if (r == 0 && !keeps_old) {
		r = put(rollup, db, STORE_1M, due[1], hour_ms, err);
	}
	if (r == 0 && !keeps_old) {
		r = put(rollup, db, STORE_1H, due[1], hour_ms, err);
	}
	r = r == 0 ? note_pod_nodes(rollup, db, due[1], hour_ms, err) : r;
	rollup_free(rollup);
	return r < 0 ? r : db_exec(db, sql, err);
}

int rollups_step(struct hour_scan *scan, struct sqlite3 *db, bool *is_idle,
	uint64_t age_ms, uint64_t now_ms, struct error *err)
{
	int64_t due[2] = { 0 };
	uint64_t ended_ms = now_ms > age_ms ? now_ms - age_ms : 0;
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? find_due(due, db, ended_ms / PARTITION_HOUR_MS, err) : r;
	*is_idle = r == 0 && due[1] == 0;
	r = r == 0 && !*is_idle ? roll_up(scan, db, due, err) : r;
	return db_end(db, r, err);
}
