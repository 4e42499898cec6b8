#include "aggregator/store/hour_scan.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* A report in a chunk, or in a row. */
struct location {
	uint64_t sample_ms;
	const struct chunk *chunk; /* NULL: a row */
	int64_t at;		   /* number in the chunk, or id */
};

struct hour_scan {
	struct sqlite3 *db;
	struct sqlite3_stmt *has_rows, *list_rows, *get_row;
	struct partition_reader partitions;
	struct chunk **chunks;
	size_t chunk_count, chunk_capacity;
	struct location *locations;
	size_t location_count, location_capacity;
};

int hour_scan_new(struct hour_scan **out, struct sqlite3 *db, struct error *err)
{
	struct hour_scan *scan = xcalloc(1, sizeof(*scan));
	const struct db_statement all[] = {
		{ &scan->has_rows,
			"SELECT 1 FROM tail WHERE id >= ?1 AND id < ?2"
			" LIMIT 1" },
		{ &scan->list_rows,
			"SELECT id, sample_ms FROM tail"
			" WHERE id >= ?1 AND id < ?2"
			" AND sample_ms >= ?3 AND sample_ms < ?4" },
		{ &scan->get_row,
			"SELECT run_id, body FROM tail JOIN run"
			" ON run.id = tail.run WHERE tail.id = ?" },
	};
	int r = db_prepare_all(db, all, count_of(all), err);

	scan->db = db;
	scan->partitions.tier = STORE_RAW;
	if (r < 0) {
		hour_scan_free(scan);
		return r;
	}
	*out = scan;
	return 0;
}

static void clear(struct hour_scan *scan)
{
	for (size_t i = 0; i < scan->chunk_count; i++) {
		chunk_close(scan->chunks[i]);
	}
	scan->chunk_count = 0;
	scan->location_count = 0;
}

void hour_scan_free(struct hour_scan *scan)
{
	if (scan != NULL) {
		clear(scan);
		partition_reader_fini(&scan->partitions);
		(void)sqlite3_finalize(scan->has_rows);
		(void)sqlite3_finalize(scan->list_rows);
		(void)sqlite3_finalize(scan->get_row);
		free(scan->chunks);
		free(scan->locations);
		free(scan);
	}
}

static void add_location(struct hour_scan *scan, struct location location)
{
	scan->locations = xgrow(scan->locations, scan->location_count,
		&scan->location_capacity, sizeof(*scan->locations));
	scan->locations[scan->location_count++] = location;
}

static void add_chunk(struct hour_scan *scan, struct sqlite3_stmt *statement,
	const struct hour_scan_range *range)
{
	const struct chunk_want want = { range->parts, range->pod_uid };
	struct chunk *chunk;
	struct error error;

	if (chunk_open(&chunk, sqlite3_column_blob(statement, 0),
		    (size_t)sqlite3_column_bytes(statement, 0), &want,
		    &error) < 0) {
		log_error("damaged chunk of reports left out",
			log_str("node", range->name), log_err(&error), LOG_END);
		return;
	}
	scan->chunks = xgrow(scan->chunks, scan->chunk_count,
		&scan->chunk_capacity, sizeof(struct chunk *));
	scan->chunks[scan->chunk_count++] = chunk;
	for (size_t i = 0; i < chunk_count(chunk); i++) {
		uint64_t ms = chunk_sample_ms(chunk, i);

		if (ms >= range->from_ms && ms < range->to_ms) {
			add_location(scan,
				(struct location){ ms, chunk, (int64_t)i });
		}
	}
}

static int list_chunks(struct hour_scan *scan,
	const struct hour_scan_range *range, struct error *err)
{
	struct sqlite3_stmt *statement;
	int r = partition_select(&statement, &scan->partitions, scan->db,
		range->node, partition_hour(range->from_ms), err);

	while (statement != NULL && db_step(&r, statement, err)) {
		add_chunk(scan, statement, range);
	}
	(void)sqlite3_reset(statement);
	return r;
}

static int list_slot(struct hour_scan *scan,
	const struct hour_scan_range *range, uint64_t slot_ms,
	struct error *err)
{
	struct sqlite3_stmt *list = scan->list_rows;
	int64_t first = head_id(slot_ms, range->node);
	int r = 0;

	(void)sqlite3_bind_int64(list, 1, first);
	(void)sqlite3_bind_int64(list, 2, head_next_node(first));
	(void)sqlite3_bind_int64(list, 3, (int64_t)range->from_ms);
	(void)sqlite3_bind_int64(list, 4, (int64_t)range->to_ms);
	while (db_step(&r, list, err)) {
		add_location(scan,
			(struct location){
				(uint64_t)sqlite3_column_int64(list, 1), NULL,
				sqlite3_column_int64(list, 0) });
	}
	(void)sqlite3_reset(list);
	return r;
}

/* The rows of an hour; most hours have none. */
static int list_rows(struct hour_scan *scan,
	const struct hour_scan_range *range, struct error *err)
{
	const uint64_t first_ms = range->from_ms & ~(HEAD_SLOT_MS - 1);
	struct sqlite3_stmt *has = scan->has_rows;
	bool has_rows;
	int r = 0;

	(void)sqlite3_bind_int64(has, 1, head_id(first_ms, 0));
	(void)sqlite3_bind_int64(has, 2,
		head_id(range->to_ms + HEAD_SLOT_MS - 1, 0));
	has_rows = db_step(&r, has, err);
	(void)sqlite3_reset(has);
	for (uint64_t at = first_ms; r == 0 && has_rows && at < range->to_ms;
		at += HEAD_SLOT_MS) {
		r = list_slot(scan, range, at, err);
	}
	return r;
}

/* Among reports of the same time, rows follow chunks; rows keep their order,
 * and so do the reports of a chunk. */
static int by_time(const void *a, const void *b)
{
	const struct location *x = a;
	const struct location *y = b;

	if (x->sample_ms != y->sample_ms) {
		return x->sample_ms < y->sample_ms ? -1 : 1;
	}
	if (x->chunk != y->chunk) {
		return x->chunk == NULL	      ? 1
			: y->chunk == NULL    ? -1
			: x->chunk < y->chunk ? -1
					      : 1;
	}
	return (x->at > y->at) - (x->at < y->at);
}

/* Mostly true: chunks follow each other, then rows. */
static bool is_sorted(const struct hour_scan *scan)
{
	for (size_t i = 1; i < scan->location_count; i++) {
		if (by_time(&scan->locations[i - 1], &scan->locations[i]) > 0) {
			return false;
		}
	}
	return true;
}

/* Removes all other pods. */
static void keep_pod(struct report *report, const char *uid)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->vm_count; i++) {
		if (strcmp(report->vms[i].pod_uid, uid) == 0) {
			report->vms[kept++] = report->vms[i];
		}
	}
	report->vm_count = kept;
}

static int read_row(struct chunk_report *out, struct hour_scan *scan,
	const struct location *location, const char *pod_uid, struct error *err)
{
	struct sqlite3_stmt *get = scan->get_row;
	int r = -EBADMSG;

	out->sample_ms = location->sample_ms;
	report_init(&out->report);
	(void)sqlite3_bind_int64(get, 1, location->at);
	if (sqlite3_step(get) != SQLITE_ROW) {
		r = db_error(scan->db, err, "cannot read");
	} else if (sqlite3_column_bytes(get, 0) == REPORT_RUN_ID_BYTES) {
		memcpy(out->run_id, sqlite3_column_blob(get, 0),
			REPORT_RUN_ID_BYTES);
		r = wire_unpack_report(&out->report,
			sqlite3_column_blob(get, 1),
			(size_t)sqlite3_column_bytes(get, 1), err);
	}
	(void)sqlite3_reset(get);
	if (r == 0 && pod_uid != NULL) {
		keep_pod(&out->report, pod_uid);
	}
	return r;
}

/* Leaves out a report that cannot be read. */
static bool deliver(struct hour_scan *scan, const struct hour_scan_range *range,
	const struct location *location,
	bool (*row)(void *owner, const struct store_row *row), void *owner)
{
	struct chunk_report got;
	int r = location->chunk == NULL
		? read_row(&got, scan, location, range->pod_uid, NULL)
		: chunk_get(&got, location->chunk, (size_t)location->at, NULL);
	bool more = true;

	if (r == 0) {
		struct store_row out = { range->name, got.run_id, got.sample_ms,
			&got.report };

		more = row(owner, &out);
		report_fini(&got.report);
	}
	return more;
}

int hour_scan_read(struct hour_scan *scan, bool *is_done,
	const struct hour_scan_range *range,
	bool (*row)(void *owner, const struct store_row *row), void *owner,
	struct error *err)
{
	int r;

	*is_done = false;
	clear(scan);
	r = list_chunks(scan, range, err);
	r = r == 0 ? list_rows(scan, range, err) : r;
	if (r < 0) {
		return r;
	}
	if (!is_sorted(scan)) {
		qsort(scan->locations, scan->location_count,
			sizeof(*scan->locations), by_time);
	}
	for (size_t i = 0; !*is_done && i < scan->location_count; i++) {
		*is_done =
			!deliver(scan, range, &scan->locations[i], row, owner);
	}
	clear(scan);
	return 0;
}
