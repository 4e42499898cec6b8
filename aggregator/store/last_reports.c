#include "aggregator/store/last_reports.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/db.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* All nodes, without a report, by number. */
static int list_nodes(struct last_reports *out, struct sqlite3 *db,
	struct error *err)
{
	struct sqlite3_stmt *nodes = NULL;
	int r = db_prepare(&nodes, db, "SELECT id, name FROM node ORDER BY id",
		err);

	while (r == 0 && sqlite3_step(nodes) == SQLITE_ROW) {
		out->list = xgrow(out->list, out->count, &out->capacity,
			sizeof(*out->list));
		out->list[out->count++] = (struct last_report){
			.node = xstrdup(
				(const char *)sqlite3_column_text(nodes, 1)),
			.number = sqlite3_column_int64(nodes, 0),
			.sample_ms = UINT64_MAX,
		};
	}
	(void)sqlite3_finalize(nodes);
	return r;
}

static int by_number(const void *key, const void *element)
{
	const int64_t *number = key;
	const struct last_report *last = element;

	return (*number > last->number) - (*number < last->number);
}

/* The newest row of a slot and node. */
static void read_row(struct last_report *last, struct sqlite3_stmt *newest,
	int64_t id)
{
	int64_t first = head_id(head_slot_ms(id), head_node(id));

	(void)sqlite3_bind_int64(newest, 1, first);
	(void)sqlite3_bind_int64(newest, 2, head_next_node(first));
	if (sqlite3_step(newest) == SQLITE_ROW &&
		sqlite3_column_bytes(newest, 0) == REPORT_RUN_ID_BYTES &&
		wire_unpack_report(&last->report,
			sqlite3_column_blob(newest, 2),
			(size_t)sqlite3_column_bytes(newest, 2), NULL) == 0) {
		memcpy(last->run_id, sqlite3_column_blob(newest, 0),
			REPORT_RUN_ID_BYTES);
		last->sample_ms = (uint64_t)sqlite3_column_int64(newest, 1);
	}
	(void)sqlite3_reset(newest);
}

/* Goes back from the newest slot by groups of slot and node, until each node
 * has a report. The first group of a node holds its newest one. */
static void read_groups(struct last_reports *out, struct sqlite3_stmt *before,
	struct sqlite3_stmt *newest, uint64_t now_ms)
{
	int64_t end = head_id(now_ms + HEAD_SLOT_MS, 0);
	size_t missing = out->count;

	(void)sqlite3_bind_int64(newest, 3, (int64_t)now_ms);
	while (end > 0 && missing > 0) {
		struct last_report *last;
		int64_t id = 0, node;

		(void)sqlite3_bind_int64(before, 1, end);
		if (sqlite3_step(before) == SQLITE_ROW) {
			id = sqlite3_column_int64(before, 0);
		}
		(void)sqlite3_reset(before);
		node = head_node(id);
		last = out->count == 0 ? NULL
				       : bsearch(&node, out->list, out->count,
						 sizeof(*out->list), by_number);
		if (id > 0 && last != NULL && last->sample_ms == UINT64_MAX) {
			read_row(last, newest, id);
			missing -= last->sample_ms != UINT64_MAX;
		}
		end = id == 0 ? 0 : head_id(head_slot_ms(id), node);
	}
}

static int read_rows(struct last_reports *out, struct sqlite3 *db,
	uint64_t now_ms, struct error *err)
{
	struct sqlite3_stmt *before = NULL, *newest = NULL;
	const struct db_statement all[] = {
		{ &before,
			"SELECT id FROM head WHERE id < ?"
			" ORDER BY id DESC LIMIT 1" },
		{ &newest,
			"SELECT run_id, sample_ms, body FROM head"
			" JOIN run ON run.id = head.run"
			" WHERE head.id >= ?1 AND head.id < ?2"
			" AND sample_ms <= ?3"
			" ORDER BY sample_ms DESC, head.id DESC LIMIT 1" },
	};
	int r = db_prepare_all(db, all, count_of(all), err);

	if (r == 0) {
		read_groups(out, before, newest, now_ms);
	}
	(void)sqlite3_finalize(before);
	(void)sqlite3_finalize(newest);
	return r;
}

/* The last report of a chunk that is not after now_ms. */
static void read_chunk(struct last_report *last, const void *body, size_t len,
	uint64_t now_ms)
{
	const struct chunk_selection all = { SCHEMA_ALL, NULL };
	struct chunk_report got;
	struct chunk *chunk;
	size_t count;

	if (chunk_open(&chunk, body, len, &all, NULL) < 0) {
		return;
	}
	count = chunk_count(chunk);
	while (count > 0 && chunk_sample_ms(chunk, count - 1) > now_ms) {
		count--;
	}
	if (count > 0 && chunk_get(&got, chunk, count - 1, NULL) == 0) {
		last->report = got.report;
		last->sample_ms = got.sample_ms;
		memcpy(last->run_id, got.run_id, REPORT_RUN_ID_BYTES);
	}
	chunk_close(chunk);
}

static int read_chunks(struct last_reports *out, struct sqlite3 *db,
	uint64_t now_ms, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < out->count; i++) {
		struct last_report *last = &out->list[i];
		struct sqlite3_stmt *newest = NULL;

		if (last->sample_ms != UINT64_MAX) {
			continue;
		}
		r = partition_newest(&newest, db, last->number, now_ms, err);
		if (newest != NULL) {
			read_chunk(last, sqlite3_column_blob(newest, 0),
				(size_t)sqlite3_column_bytes(newest, 0),
				now_ms);
		}
		(void)sqlite3_finalize(newest);
	}
	return r;
}

int last_reports_read(struct last_reports *out, struct sqlite3 *db,
	uint64_t now_ms, struct error *err)
{
	int r = list_nodes(out, db, err);

	r = r == 0 ? read_rows(out, db, now_ms, err) : r;
	return r == 0 ? read_chunks(out, db, now_ms, err) : r;
}

void last_reports_fini(struct last_reports *reports)
{
	for (size_t i = 0; i < reports->count; i++) {
		free(reports->list[i].node);
		report_fini(&reports->list[i].report);
	}
	free(reports->list);
	*reports = (struct last_reports){ 0 };
}
