#include "aggregator/store/hour_scan.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/head.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Where a report is: in a chunk, or a row. */
struct place {
	uint64_t sample_ms;
	const struct chunk *chunk; /* NULL: a row */
	int64_t at;		   /* number in the chunk, or id */
};

struct scan {
	struct sqlite3 *db;
	struct sqlite3_stmt *has_rows, *list_rows, *get_row;
	struct part_reader parts;
	struct chunk **chunks;
	size_t chunk_count, chunk_capacity;
	struct place *places;
	size_t place_count, place_capacity;
};

int scan_new(struct scan **out, struct sqlite3 *db, struct error *err)
{
	struct scan *scan = xcalloc(1, sizeof(*scan));
	int r;

	scan->db = db;
	scan->parts.tier = STORE_RAW;
	r = store_db_prepare(&scan->has_rows, db,
		"SELECT 1 FROM tail WHERE id >= ?1 AND id < ?2 LIMIT 1", err);
	if (r < 0) {
		scan_free(scan);
		return r;
	}
	r = store_db_prepare(&scan->list_rows, db,
		"SELECT id, sample_ms FROM tail WHERE id >= ?1 AND id < ?2"
		" AND sample_ms >= ?3 AND sample_ms < ?4",
		err);
	if (r == 0) {
		r = store_db_prepare(&scan->get_row, db,
			"SELECT run_id, body FROM tail JOIN run"
			" ON run.id = tail.run WHERE tail.id = ?",
			err);
	}
	if (r < 0) {
		scan_free(scan);
		return r;
	}
	*out = scan;
	return 0;
}

static void forget(struct scan *scan)
{
	for (size_t i = 0; i < scan->chunk_count; i++) {
		chunk_close(scan->chunks[i]);
	}
	scan->chunk_count = 0;
	scan->place_count = 0;
}

void scan_free(struct scan *scan)
{
	if (scan != NULL) {
		forget(scan);
		part_reader_fini(&scan->parts);
		(void)sqlite3_finalize(scan->has_rows);
		(void)sqlite3_finalize(scan->list_rows);
		(void)sqlite3_finalize(scan->get_row);
		free(scan->chunks);
		free(scan->places);
		free(scan);
	}
}

static void add_place(struct scan *scan, struct place place)
{
	scan->places = xgrow(scan->places, scan->place_count,
		&scan->place_capacity, sizeof(*scan->places));
	scan->places[scan->place_count] = place;
	scan->place_count++;
}

static void add_chunk(struct scan *scan, struct sqlite3_stmt *statement,
	const struct scan_range *range)
{
	const struct chunk_want want = { range->parts, range->pod_uid };
	struct chunk *chunk;
	struct error error;

	if (chunk_open(&chunk, sqlite3_column_blob(statement, 0),
		    (size_t)sqlite3_column_bytes(statement, 0), &want,
		    &error) < 0) {
		log_error("a chunk of reports is damaged and left out",
			log_str("node", range->name), log_err(&error), LOG_END);
		return;
	}
	scan->chunks = xgrow(scan->chunks, scan->chunk_count,
		&scan->chunk_capacity, sizeof(struct chunk *));
	scan->chunks[scan->chunk_count] = chunk;
	scan->chunk_count++;
	for (size_t i = 0; i < chunk_count(chunk); i++) {
		uint64_t ms = chunk_sample_ms(chunk, i);

		if (ms >= range->from_ms && ms < range->to_ms) {
			add_place(scan,
				(struct place){ ms, chunk, (int64_t)i });
		}
	}
}

static int list_chunks(struct scan *scan, const struct scan_range *range,
	struct error *err)
{
	uint64_t hour_ms = range->from_ms / STORE_HOUR_MS * STORE_HOUR_MS;
	struct sqlite3_stmt *statement;
	int step = SQLITE_DONE;
	int r = part_select(&statement, &scan->parts, scan->db, range->node,
		hour_ms, err);

	while (statement != NULL && r == 0 &&
		(step = sqlite3_step(statement)) == SQLITE_ROW) {
		add_chunk(scan, statement, range);
	}
	if (r == 0 && step != SQLITE_DONE) {
		r = store_db_error(scan->db, err, "cannot read");
	}
	(void)sqlite3_reset(statement);
	return r;
}

static int list_slot(struct scan *scan, const struct scan_range *range,
	uint64_t slot_ms, struct error *err)
{
	struct sqlite3_stmt *list = scan->list_rows;
	int64_t first = tail_id(slot_ms, range->node);
	int r = 0;
	int step;

	(void)sqlite3_bind_int64(list, 1, first);
	(void)sqlite3_bind_int64(list, 2, tail_next_node(first));
	(void)sqlite3_bind_int64(list, 3, (int64_t)range->from_ms);
	(void)sqlite3_bind_int64(list, 4, (int64_t)range->to_ms);
	while ((step = sqlite3_step(list)) == SQLITE_ROW) {
		add_place(scan,
			(struct place){ (uint64_t)sqlite3_column_int64(list, 1),
				NULL, sqlite3_column_int64(list, 0) });
	}
	if (step != SQLITE_DONE) {
		r = store_db_error(scan->db, err, "cannot read");
	}
	(void)sqlite3_reset(list);
	return r;
}

/* Rows of an hour, if there are any: most hours are packed. */
static int list_rows(struct scan *scan, const struct scan_range *range,
	struct error *err)
{
	const uint64_t slot_ms = UINT64_C(1) << TAIL_SLOT_BITS;
	const uint64_t first_ms = range->from_ms & ~(slot_ms - 1);
	struct sqlite3_stmt *has = scan->has_rows;
	int r = 0;
	int step;

	(void)sqlite3_bind_int64(has, 1, tail_id(first_ms, 0));
	(void)sqlite3_bind_int64(has, 2,
		tail_id(range->to_ms + slot_ms - 1, 0));
	step = sqlite3_step(has);
	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		r = store_db_error(scan->db, err, "cannot read");
	}
	(void)sqlite3_reset(has);
	for (uint64_t at = first_ms;
		r == 0 && step == SQLITE_ROW && at < range->to_ms;
		at += slot_ms) {
		r = list_slot(scan, range, at, err);
	}
	return r;
}

/* Of one time, rows come after chunks and each kind in the order it came. */
static int by_time(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

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

/* They are, mostly: chunks one after the other, then rows. */
static bool is_sorted(const struct scan *scan)
{
	for (size_t i = 1; i < scan->place_count; i++) {
		if (by_time(&scan->places[i - 1], &scan->places[i]) > 0) {
			return false;
		}
	}
	return true;
}

/* The one pod that is asked for to the front, the rest away. */
static void keep_pod(struct report *report, const char *uid)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->vm_count; i++) {
		if (strcmp(report->vms[i].pod_uid, uid) == 0) {
			report->vms[kept] = report->vms[i];
			kept++;
		}
	}
	report->vm_count = kept;
}

static int read_row(struct chunk_report *out, struct scan *scan,
	const struct place *place, const char *pod_uid, struct error *err)
{
	struct sqlite3_stmt *get = scan->get_row;
	int r = -EBADMSG;

	out->sample_ms = place->sample_ms;
	report_init(&out->report);
	(void)sqlite3_bind_int64(get, 1, place->at);
	if (sqlite3_step(get) != SQLITE_ROW) {
		r = store_db_error(scan->db, err, "cannot read");
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

/* A report that cannot be read is a gap. */
static bool give(struct scan *scan, const struct scan_range *range,
	const struct place *place,
	bool (*row)(void *owner, const struct store_row *row), void *owner)
{
	struct chunk_report got;
	int r = place->chunk == NULL
		? read_row(&got, scan, place, range->pod_uid, NULL)
		: chunk_get(&got, place->chunk, (size_t)place->at, NULL);
	bool more = true;

	if (r == 0) {
		struct store_row out = { range->name, got.run_id, got.sample_ms,
			&got.report };

		more = row(owner, &out);
		report_fini(&got.report);
	}
	return more;
}

int scan_hour(struct scan *scan, bool *is_done, const struct scan_range *range,
	bool (*row)(void *owner, const struct store_row *row), void *owner,
	struct error *err)
{
	int r;

	*is_done = false;
	forget(scan);
	r = list_chunks(scan, range, err);
	if (r == 0) {
		r = list_rows(scan, range, err);
	}
	if (r < 0) {
		return r;
	}
	if (!is_sorted(scan)) {
		qsort(scan->places, scan->place_count, sizeof(*scan->places),
			by_time);
	}
	for (size_t i = 0; !*is_done && i < scan->place_count; i++) {
		*is_done = !give(scan, range, &scan->places[i], row, owner);
	}
	forget(scan);
	return 0;
}
