#include "aggregator/store/thread.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/head.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <string.h>

/* Every node there is, without a report. */
static int list_nodes(struct store_opening *opening, struct sqlite3 *db,
	struct error *err)
{
	struct sqlite3_stmt *nodes = NULL;
	int r = store_db_prepare(&nodes, db,
		"SELECT id, name FROM node ORDER BY id", err);

	while (r == 0 && sqlite3_step(nodes) == SQLITE_ROW) {
		struct store_seed *seed;

		opening->seeds = xgrow(opening->seeds, opening->count,
			&opening->capacity, sizeof(*opening->seeds));
		seed = &opening->seeds[opening->count];
		*seed = (struct store_seed){
			.node = xstrdup(
				(const char *)sqlite3_column_text(nodes, 1)),
			.number = sqlite3_column_int64(nodes, 0),
			.sample_ms = UINT64_MAX,
		};
		opening->count++;
	}
	(void)sqlite3_finalize(nodes);
	return r;
}

static struct store_seed *find_seed(struct store_opening *opening, int64_t node)
{
	for (size_t low = 0, high = opening->count; low < high;) {
		size_t middle = (low + high) / 2;
		struct store_seed *seed = &opening->seeds[middle];

		if (seed->number == node) {
			return seed;
		}
		if (seed->number < node) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

/* The newest row of a slot and node. */
static void read_row(struct store_seed *seed, struct sqlite3_stmt *newest,
	int64_t id)
{
	int64_t first = tail_id(tail_slot_ms(id), tail_node(id));

	(void)sqlite3_bind_int64(newest, 1, first);
	(void)sqlite3_bind_int64(newest, 2, tail_next_node(first));
	if (sqlite3_step(newest) == SQLITE_ROW &&
		sqlite3_column_bytes(newest, 0) == REPORT_RUN_ID_BYTES &&
		wire_unpack_report(&seed->report,
			sqlite3_column_blob(newest, 2),
			(size_t)sqlite3_column_bytes(newest, 2), NULL) == 0) {
		memcpy(seed->run_id, sqlite3_column_blob(newest, 0),
			REPORT_RUN_ID_BYTES);
		seed->sample_ms = (uint64_t)sqlite3_column_int64(newest, 1);
	}
	(void)sqlite3_reset(newest);
}

/* From the newest slot back, by groups of slot and node: the first group of a
 * node is its newest. */
static int read_rows(struct store_opening *opening, struct sqlite3 *db,
	struct error *err)
{
	struct sqlite3_stmt *before = NULL, *newest = NULL;
	int64_t end = INT64_MAX;
	int r = store_db_prepare(&before, db,
		"SELECT id FROM tail WHERE id < ? ORDER BY id DESC LIMIT 1",
		err);

	if (r == 0) {
		r = store_db_prepare(&newest, db,
			"SELECT run_id, sample_ms, body FROM tail"
			" JOIN run ON run.id = tail.run"
			" WHERE tail.id >= ? AND tail.id < ?"
			" ORDER BY sample_ms DESC, tail.id DESC LIMIT 1",
			err);
	}
	while (r == 0 && end > 0) {
		struct store_seed *seed;
		int64_t id = 0;

		(void)sqlite3_bind_int64(before, 1, end);
		if (sqlite3_step(before) == SQLITE_ROW) {
			id = sqlite3_column_int64(before, 0);
		}
		(void)sqlite3_reset(before);
		seed = find_seed(opening, tail_node(id));
		if (id > 0 && seed != NULL && seed->sample_ms == UINT64_MAX) {
			read_row(seed, newest, id);
		}
		end = id == 0 ? 0 : tail_id(tail_slot_ms(id), tail_node(id));
	}
	(void)sqlite3_finalize(before);
	(void)sqlite3_finalize(newest);
	return r;
}

static void read_last(struct store_seed *seed, const void *body, size_t len)
{
	const struct chunk_want all = { FIELDS_ALL, NULL };
	struct chunk_report got;
	struct chunk *chunk;

	if (chunk_open(&chunk, body, len, &all, NULL) < 0) {
		return;
	}
	if (chunk_get(&got, chunk, chunk_count(chunk) - 1, NULL) == 0) {
		seed->report = got.report;
		seed->sample_ms = got.sample_ms;
		memcpy(seed->run_id, got.run_id, REPORT_RUN_ID_BYTES);
	}
	chunk_close(chunk);
}

static int read_chunks(struct store_opening *opening, struct sqlite3 *db,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < opening->count; i++) {
		struct store_seed *seed = &opening->seeds[i];
		struct sqlite3_stmt *newest = NULL;

		if (seed->sample_ms != UINT64_MAX) {
			continue;
		}
		r = part_newest(&newest, db, seed->number, err);
		if (newest != NULL) {
			read_last(seed, sqlite3_column_blob(newest, 0),
				(size_t)sqlite3_column_bytes(newest, 0));
		}
		(void)sqlite3_finalize(newest);
	}
	return r;
}

int store_read_seeds(struct store_opening *opening, struct sqlite3 *db,
	struct error *err)
{
	int r = list_nodes(opening, db, err);

	if (r == 0) {
		r = read_rows(opening, db, err);
	}
	return r == 0 ? read_chunks(opening, db, err) : r;
}
