#include "aggregator/store/hour_scan.h"

#include "aggregator/store/head.h"
#include "aggregator/store/open_chunks.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* A report in a chunk, or in a row. */
struct location {
	uint64_t sample_ms;
	size_t chunk; /* number of the chunk, or in_row */
	int64_t at;   /* number in the chunk, or id */
};

static const size_t in_row = SIZE_MAX;

struct hour_scan {
	struct sqlite3 *db;
	struct sqlite3_stmt *first_row, *list_rows, *measure_rows, *get_row;
	struct open_chunks chunks;
	const struct hour_scan_range *range; /* during a call */
	struct location *locations;
	size_t location_count, location_capacity;
	bool is_full; /* there are more locations than may be listed */
	struct hour_scan_size size;
};

int hour_scan_new(struct hour_scan **out, struct sqlite3 *db, struct error *err)
{
	struct hour_scan *scan = xcalloc(1, sizeof(*scan));
	const struct db_statement all[] = {
		{ &scan->first_row,
			"SELECT id FROM head WHERE id >= ?1 AND id < ?2"
			" ORDER BY id LIMIT 1" },
		{ &scan->list_rows,
			"SELECT id, sample_ms FROM head"
			" WHERE id >= ?1 AND id < ?2"
			" AND sample_ms >= ?3 AND sample_ms < ?4" },
		{ &scan->measure_rows,
			"SELECT sum(length(body)) FROM head"
			" WHERE id >= ?1 AND id < ?2"
			" AND sample_ms >= ?3 AND sample_ms < ?4" },
		{ &scan->get_row,
			"SELECT run_id, body FROM head JOIN run"
			" ON run.id = head.run WHERE head.id = ?" },
	};
	int r = db_prepare_all(db, all, count_of(all), err);

	scan->db = db;
	open_chunks_init(&scan->chunks, db);
	if (r < 0) {
		hour_scan_free(scan);
		return r;
	}
	*out = scan;
	return 0;
}

static void clear(struct hour_scan *scan)
{
	open_chunks_clear(&scan->chunks);
	scan->location_count = 0;
}

void hour_scan_free(struct hour_scan *scan)
{
	if (scan != NULL) {
		open_chunks_fini(&scan->chunks);
		(void)sqlite3_finalize(scan->first_row);
		(void)sqlite3_finalize(scan->list_rows);
		(void)sqlite3_finalize(scan->measure_rows);
		(void)sqlite3_finalize(scan->get_row);
		free(scan->locations);
		free(scan);
	}
}

/* ---- chunks ---- */

static void add_location(struct hour_scan *scan, uint64_t sample_ms,
	size_t chunk, int64_t at)
{
	if (scan->location_count == HOUR_SCAN_REPORTS) {
		scan->is_full = true;
		return;
	}
	scan->locations = xgrow(scan->locations, scan->location_count,
		&scan->location_capacity, sizeof(*scan->locations));
	scan->locations[scan->location_count++] =
		(struct location){ sample_ms, chunk, at };
}

/* Lists the reports of an open chunk. */
static void list_chunk(struct hour_scan *scan, struct open_chunk *open,
	size_t number)
{
	const struct hour_scan_range *range = scan->range;

	for (size_t i = 0; !scan->is_full && i < chunk_count(open->chunk);
		i++) {
		uint64_t ms = chunk_sample_ms(open->chunk, i);

		if (ms >= range->from_ms && ms < range->to_ms) {
			add_location(scan, ms, number, (int64_t)i);
			open->left++;
		}
	}
}

static int list_chunks(struct hour_scan *scan, struct error *err)
{
	struct open_chunks *chunks = &scan->chunks;
	int r = 0;

	for (size_t i = 0; r == 0 && !scan->is_full && i < chunks->count; i++) {
		struct open_chunk *open = &chunks->list[i];

		r = open_chunks_preview(chunks, open, err);
		if (r == 0 && !open->is_damaged) {
			list_chunk(scan, open, i);
			open_chunks_end_preview(chunks, open);
		}
	}
	return r;
}

/* Calls found for each chunk that may have reports of the range. */
static int find_chunks(struct hour_scan *scan,
	void (*found)(struct hour_scan *scan, struct sqlite3_stmt *row),
	struct error *err)
{
	const struct hour_scan_range *range = scan->range;
	struct sqlite3_stmt *list;
	int r = partition_list(&list, &scan->chunks.partitions, scan->db,
		range->node, partition_hour(range->from_ms), err);

	while (list != NULL && db_step(&r, list, err)) {
		if ((uint64_t)sqlite3_column_int64(list, 1) < range->to_ms &&
			(uint64_t)sqlite3_column_int64(list, 2) >=
				range->from_ms) {
			found(scan, list);
		}
	}
	(void)sqlite3_reset(list);
	return r;
}

static void add_chunk(struct hour_scan *scan, struct sqlite3_stmt *row)
{
	open_chunks_add(&scan->chunks, sqlite3_column_int64(row, 0));
}

static void measure_chunk(struct hour_scan *scan, struct sqlite3_stmt *row)
{
	scan->size.chunk_bytes += (uint64_t)sqlite3_column_int64(row, 3);
}

/* ---- rows ---- */

static void bind_slot(struct sqlite3_stmt *statement,
	const struct hour_scan_range *range, uint64_t slot_ms)
{
	int64_t first = head_id(slot_ms, range->node);

	(void)sqlite3_bind_int64(statement, 1, first);
	(void)sqlite3_bind_int64(statement, 2, head_next_node(first));
	(void)sqlite3_bind_int64(statement, 3, (int64_t)range->from_ms);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)range->to_ms);
}

static int list_slot(struct hour_scan *scan, uint64_t slot_ms,
	struct error *err)
{
	struct sqlite3_stmt *list = scan->list_rows;
	int r = 0;

	bind_slot(list, scan->range, slot_ms);
	while (!scan->is_full && db_step(&r, list, err)) {
		add_location(scan, (uint64_t)sqlite3_column_int64(list, 1),
			in_row, sqlite3_column_int64(list, 0));
	}
	(void)sqlite3_reset(list);
	return r;
}

static int measure_slot(struct hour_scan *scan, uint64_t slot_ms,
	struct error *err)
{
	struct sqlite3_stmt *measure = scan->measure_rows;
	int r = 0;

	bind_slot(measure, scan->range, slot_ms);
	if (db_step(&r, measure, err)) {
		scan->size.row_bytes +=
			(uint64_t)sqlite3_column_int64(measure, 0);
	}
	(void)sqlite3_reset(measure);
	return r;
}

/* Calls slot for each slot of the range, until the list is full, from the first
 * one on in which any node has rows. Most hours have none, and the newest ones
 * have none before the rows that are to be packed next. */
static int find_rows(struct hour_scan *scan,
	int (*slot)(struct hour_scan *scan, uint64_t slot_ms,
		struct error *err),
	struct error *err)
{
	const struct hour_scan_range *range = scan->range;
	struct sqlite3_stmt *first = scan->first_row;
	uint64_t at = range->to_ms;
	int r = 0;

	(void)sqlite3_bind_int64(first, 1, head_id(range->from_ms, 0));
	(void)sqlite3_bind_int64(first, 2,
		head_id(range->to_ms + HEAD_SLOT_MS - 1, 0));
	if (db_step(&r, first, err)) {
		at = head_slot_ms(sqlite3_column_int64(first, 0));
	}
	(void)sqlite3_reset(first);
	for (; r == 0 && !scan->is_full && at < range->to_ms;
		at += HEAD_SLOT_MS) {
		r = slot(scan, at, err);
	}
	return r;
}

int hour_scan_measure(struct hour_scan_size *out, struct hour_scan *scan,
	const struct hour_scan_range *range, struct error *err)
{
	int r;

	scan->range = range;
	scan->is_full = false;
	scan->size = (struct hour_scan_size){ 0 };
	r = find_chunks(scan, measure_chunk, err);
	r = r == 0 ? find_rows(scan, measure_slot, err) : r;
	*out = scan->size;
	return r;
}

/* ---- reading ---- */

/* Among reports of the same time, rows follow chunks; rows keep their order,
 * and so do chunks and the reports of a chunk. */
static int by_time(const void *a, const void *b)
{
	const struct location *x = a;
	const struct location *y = b;

	if (x->sample_ms != y->sample_ms) {
		return x->sample_ms < y->sample_ms ? -1 : 1;
	}
	if (x->chunk != y->chunk) {
		return x->chunk < y->chunk ? -1 : 1;
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
	const struct location *location, struct error *err)
{
	const char *pod_uid = scan->range->pod_uid;
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

struct sink {
	bool (*row)(void *owner, const struct store_row *row);
	void *owner;
};

/* -EBADMSG: the report cannot be read. */
static int read_report(struct chunk_report *out, struct hour_scan *scan,
	const struct location *location, struct error *err)
{
	struct open_chunk *open;
	int r;

	if (location->chunk == in_row) {
		return read_row(out, scan, location, NULL) < 0 ? -EBADMSG : 0;
	}
	open = &scan->chunks.list[location->chunk];
	r = open_chunks_need(&scan->chunks, open, err);
	if (r == 0) {
		r = chunk_get(out, open->chunk, (size_t)location->at, NULL);
	}
	open->left--;
	if (open->left == 0) {
		open_chunks_close(&scan->chunks, open);
	}
	return r;
}

/* Leaves out a report that cannot be read. */
static int deliver(struct hour_scan *scan, bool *is_done,
	const struct location *location, const struct sink *sink,
	struct error *err)
{
	struct chunk_report got;
	int r = read_report(&got, scan, location, err);

	if (r == 0) {
		struct store_row out = { scan->range->name, got.run_id,
			got.sample_ms, &got.report };

		*is_done = !sink->row(sink->owner, &out);
		report_fini(&got.report);
	}
	return r == -EBADMSG ? 0 : r;
}

/* Lists the reports of the range, or some if there are too many. */
static int list_all(struct hour_scan *scan, struct error *err)
{
	int r;

	clear(scan);
	scan->is_full = false;
	scan->chunks.node = scan->range->name;
	scan->chunks.selection = (struct chunk_selection){ scan->range->parts,
		scan->range->pod_uid };
	r = find_chunks(scan, add_chunk, err);
	r = r == 0 ? list_chunks(scan, err) : r;
	r = r == 0 ? find_rows(scan, list_slot, err) : r;
	if (r == 0 && !scan->is_full && !is_sorted(scan)) {
		qsort(scan->locations, scan->location_count,
			sizeof(*scan->locations), by_time);
	}
	return r;
}

/* Reads the range or, if it has too many reports, as much from its beginning as
 * is possible at once; range->to_ms is then the end of that. */
static int read_part(struct hour_scan *scan, bool *is_done,
	struct hour_scan_range *range, const struct sink *sink,
	struct error *err)
{
	int r;

	scan->range = range;
	r = list_all(scan, err);
	while (r == 0 && scan->is_full) {
		if (range->to_ms - range->from_ms == 1) {
			r = error_set(err, -EFBIG,
				"'%s' has more than %d reports of one "
				"millisecond",
				range->name, HOUR_SCAN_REPORTS);
		} else {
			range->to_ms -= (range->to_ms - range->from_ms) / 2;
			r = list_all(scan, err);
		}
	}
	for (size_t i = 0; r == 0 && !*is_done && i < scan->location_count;
		i++) {
		r = deliver(scan, is_done, &scan->locations[i], sink, err);
	}
	clear(scan);
	return r;
}

int hour_scan_read(struct hour_scan *scan, bool *is_done,
	const struct hour_scan_range *range,
	bool (*row)(void *owner, const struct store_row *row), void *owner,
	struct error *err)
{
	const struct sink sink = { row, owner };
	struct hour_scan_range part = *range;
	uint64_t width_ms = range->to_ms - range->from_ms;
	int r = 0;

	*is_done = false;
	scan->chunks.repeated_bytes = 0;
	while (r == 0 && !*is_done && part.from_ms < range->to_ms) {
		part.to_ms = part.from_ms + width_ms < range->to_ms
			? part.from_ms + width_ms
			: range->to_ms;
		r = read_part(scan, is_done, &part, &sink, err);
		width_ms = part.to_ms - part.from_ms;
		part.from_ms = part.to_ms;
	}
	return r;
}
