#include "aggregator/store/rollups.h"

#include "aggregator/codec/rollup_pack.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

enum { BYTES_MAX = 64 << 20 };

static const uint64_t log_every_us = 60000000;

static bool add_row(void *owner, const struct store_row *row)
{
	rollup_add(owner, row->run_id, row->sample_ms, row->report);
	return !rollup_is_too_large(owner);
}

/* -EFBIG: the range has too much to read. */
static int check_size(struct hour_scan *scan,
	const struct hour_scan_range *range, struct error *err)
{
	struct hour_scan_size size;
	int r = hour_scan_measure(&size, scan, range, err);

	if (r == 0 &&
		(size.chunk_bytes > ROLLUPS_CHUNK_BYTES ||
			size.row_bytes > ROLLUPS_ROW_BYTES)) {
		r = error_set(err, -EFBIG, "%.0f MB of reports",
			(double)(size.chunk_bytes + size.row_bytes) / 1e6);
	}
	return r;
}

static int add_range(struct rollup *rollup, struct hour_scan *scan,
	const struct hour_scan_range *range, struct error *err)
{
	bool is_done;
	int r = check_size(scan, range, err);

	r = r == 0 ? hour_scan_read(scan, &is_done, range, add_row, rollup, err)
		   : r;
	if (r == 0 && rollup_is_too_large(rollup)) {
		r = error_set(err, -EFBIG, "more than %d intervals",
			ROLLUP_SERIES_SAMPLES_MAX);
	}
	return r;
}

/* Passes an error on. One that was handled must not stay in err: a query whose
 * error is set has failed. */
static int pass_error(struct error *err, int r, const struct error *from)
{
	if (err != NULL) {
		*err = *from;
	}
	return r;
}

/* Computes a rollup from the reports of the hour, and from those just outside
 * of it, for the intervals across its ends. A neighbour that is too large is
 * not read. -EFBIG: the hour is too large. */
static int compute(struct rollup **out, struct hour_scan *scan,
	const struct hour_scan_range *of, bool has_pods, struct error *err)
{
	const uint64_t hour_ms = partition_hour(of->from_ms);
	const uint64_t end_ms = hour_ms + PARTITION_HOUR_MS;
	const uint64_t ranges[][2] = {
		{ hour_ms - ROLLUP_MARGIN_MS, hour_ms },
		{ hour_ms, end_ms },
		{ end_ms, end_ms + ROLLUP_MARGIN_MS },
	};
	struct rollup *rollup = rollup_new(hour_ms, has_pods);
	struct error error = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(ranges); i++) {
		struct hour_scan_range range = { of->node, of->name,
			of->pod_uid, ranges[i][0], ranges[i][1], SCHEMA_RATES };

		r = add_range(rollup, scan, &range, &error);
		if (r == -EFBIG && ranges[i][0] != hour_ms &&
			!rollup_is_too_large(rollup)) {
			r = 0;
		}
	}
	if (r < 0) {
		rollup_free(rollup);
		return pass_error(err, r, &error);
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
	struct sqlite3_stmt *statement = NULL;
	struct error error;
	int r = partition_select(&statement, &partitions, db, range->node,
		partition_hour(range->from_ms), err);

	*is_packed = false;
	if (statement != NULL && db_step(&r, statement, err)) {
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

/* The series of pod_uid; NULL: all. */
static void deliver_series(struct filter *filter, const struct rollup *rollup,
	const char *pod_uid)
{
	struct rollup_row rows[ROLLUP_ROWS];

	for (size_t s = 0; s < rollup_series_count(rollup); s++) {
		const char *uid = rollup_series_uid(rollup, s);

		if (pod_uid == NULL || strcmp(uid, pod_uid) == 0) {
			deliver(filter, uid, rows,
				rollup_rows(rows, rollup, s,
					filter->read->tier == STORE_1H));
		}
	}
}

static int read_computed(struct filter *filter, struct hour_scan *scan,
	const char *pod_uid, struct error *err)
{
	bool has_pods = pod_uid == NULL || *pod_uid != '\0';
	struct rollup *rollup;
	struct error error = { 0 };
	int r = compute(&rollup, scan, filter->range, has_pods, &error);

	if (r < 0) {
		return r == -EFBIG ? 0 : pass_error(err, r, &error);
	}
	deliver_series(filter, rollup, pod_uid);
	rollup_free(rollup);
	return 0;
}

/* Computes the hour with all pods and keeps it. */
static int keep_computed(const struct rollups_source *source,
	const struct computed_hour *hour, const struct hour_scan_range *of,
	struct error *err)
{
	struct hour_scan_range range = *of;
	struct rollup *rollup = NULL;
	struct error error = { 0 };
	int r;

	range.pod_uid = NULL;
	r = compute(&rollup, source->scan, &range, true, &error);
	if (r < 0 && r != -EFBIG) {
		return pass_error(err, r, &error);
	}
	computed_hours_put(source->computed, hour, rollup, source->now_us);
	return 0;
}

/* From a rollup that is kept, if the reader may get such; *is_read: there was
 * one. */
static int read_kept(bool *is_read, struct filter *filter,
	const struct rollups_source *source, const char *pod_uid,
	struct error *err)
{
	const struct hour_scan_range *range = filter->range;
	const struct computed_hour hour = { range->node,
		partition_hour(range->from_ms) };
	const struct rollup *kept;
	int r = 0;

	*is_read = false;
	if (source->computed == NULL || !filter->read->may_be_kept ||
		range->pod_uid == NULL) {
		return 0;
	}
	kept = computed_hours_find(source->computed, &hour, source->now_us);
	if (kept == NULL &&
		computed_hours_ask(source->computed, &hour, source->now_us)) {
		r = keep_computed(source, &hour, range, err);
		kept = computed_hours_find(source->computed, &hour,
			source->now_us);
	}
	if (r == 0 && kept != NULL) {
		deliver_series(filter, kept, pod_uid);
		*is_read = true;
	}
	return r;
}

/* The series of pod_uid; "": the node; NULL: all. */
static int read_hour(struct filter *filter, const struct rollups_source *source,
	bool *is_done, const char *pod_uid, struct error *err)
{
	bool is_read;
	int r = read_packed(&is_read, filter, source->db, pod_uid, err);

	/* If the damage is behind rows that were delivered, the rest is lost:
	 * computing the hour would deliver those rows twice. */
	is_read |= filter->delivered > 0;
	if (r == 0 && !is_read) {
		r = read_kept(&is_read, filter, source, pod_uid, err);
	}
	if (r == 0 && !is_read) {
		r = read_computed(filter, source->scan, pod_uid, err);
	}
	*is_done |= filter->is_done;
	return r;
}

int rollups_read(const struct rollups_source *source, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err)
{
	struct filter filter = { .read = read, .range = range };

	return read_hour(&filter, source, is_done,
		range->pod_uid == NULL ? "" : range->pod_uid, err);
}

int rollups_read_all(const struct rollups_source *source, bool *is_done,
	const struct store_read *read, const struct hour_scan_range *range,
	struct error *err)
{
	struct filter filter = { .read = read, .range = range };

	return read_hour(&filter, source, is_done, NULL, err);
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
	}
	if (db_step(&r, find, err)) {
		due[0] = sqlite3_column_int64(find, 0);
		due[1] = sqlite3_column_int64(find, 1);
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
	enum store_tier tier, const struct hour_scan_range *hour,
	struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BYTES_MAX);
	struct partition_blob blob = { .node = hour->node,
		.from_ms = hour->from_ms,
		.to_ms = hour->to_ms };
	int r = rollup_pack(&body, rollup, tier == STORE_1H, err);

	blob.body = body.data;
	blob.len = body.len;
	if (r == 0) {
		r = partition_delete(db, tier, hour->node, hour->from_ms, err);
	}
	return r == 0 ? partition_add(db, tier, &blob, err) : r;
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

/* Warns about an hour of a node, once in log_every_us for each node. */
static void log_hour(struct rollups *rollups, const char *message,
	const struct hour_scan_range *hour, struct log_field why)
{
	uint64_t suppressed = 0;
	char at[CLOCK_TEXT_MAX];

	if (log_allow_topic(&rollups->log_limits, clock_monotonic_us(),
		    log_every_us, hour->name, &suppressed)) {
		log_warning(message, log_str("node", hour->name),
			log_str("hour", clock_text(at, hour->from_ms * 1000)),
			why, log_int("suppressed", (int64_t)suppressed),
			LOG_END);
	}
}

static int store_rollup(struct rollups *rollups, const struct rollup *rollup,
	const struct hour_scan_range *hour, struct error *err)
{
	bool keeps_old = false;
	int r = covers_less(&keeps_old, rollup, rollups->db, hour, err);

	if (r == 0 && !keeps_old) {
		r = put(rollup, rollups->db, STORE_1M, hour, err);
	}
	if (r == 0 && !keeps_old) {
		r = put(rollup, rollups->db, STORE_1H, hour, err);
	}
	return r == 0 ? note_pod_nodes(rollup, rollups->db, hour->node,
				hour->from_ms, err)
		      : r;
}

static int roll_up(struct rollups *rollups, const struct hour_scan_range *hour,
	struct error *err)
{
	struct rollup *rollup = NULL;
	int r = compute(&rollup, rollups->scan, hour, true, err);

	r = r == 0 ? store_rollup(rollups, rollup, hour, err) : r;
	if (r == 0 && rollup_left_out(rollup) > 0) {
		rollups->left_out.samples += rollup_left_out(rollup);
		log_hour(rollups,
			"node named too many VM pods in an hour, leaving some "
			"out of its minutes and hours",
			hour,
			log_int("samples", (int64_t)rollup_left_out(rollup)));
	}
	rollup_free(rollup);
	return r;
}

static int step(struct rollups *rollups, const int64_t due[2],
	struct error *err)
{
	scoped_free char *done = xasprintf(
		"DELETE FROM rollup_due WHERE hour = %lld AND node = %lld",
		(long long)due[0], (long long)due[1]);
	scoped_free char *name = head_node_name(rollups->db, due[1]);
	uint64_t hour_ms = (uint64_t)due[0] * PARTITION_HOUR_MS;
	const struct hour_scan_range hour = { due[1], name, NULL, hour_ms,
		hour_ms + PARTITION_HOUR_MS, SCHEMA_RATES };
	struct error error = { 0 };
	int r = db_exec(rollups->db, "SAVEPOINT rollup", &error);

	r = r == 0 ? roll_up(rollups, &hour, &error) : r;
	if (r == -EFBIG) {
		rollups->left_out.hours++;
		log_hour(rollups,
			"hour of a node is too large, leaving it out of "
			"minutes and hours",
			&hour, log_err(&error));
		r = db_exec(rollups->db, "ROLLBACK TO rollup", err);
	} else if (r < 0) {
		r = pass_error(err, r, &error);
	}
	return r == 0 ? db_exec(rollups->db, done, err) : r;
}

int rollups_step(struct rollups *rollups, bool *is_idle, uint64_t now_ms,
	struct error *err)
{
	int64_t due[2] = { 0 };
	uint64_t ended_ms =
		now_ms > rollups->age_ms ? now_ms - rollups->age_ms : 0;
	int r = db_exec(rollups->db, "BEGIN IMMEDIATE", err);

	r = r == 0
		? find_due(due, rollups->db, ended_ms / PARTITION_HOUR_MS, err)
		: r;
	*is_idle = r == 0 && due[1] == 0;
	r = r == 0 && !*is_idle ? step(rollups, due, err) : r;
	return db_end(rollups->db, r, err);
}
