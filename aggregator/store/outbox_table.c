#include "aggregator/store/outbox_table.h"

#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* An id is the shard and a number in the shard, so the reports of a shard are
 * neighbours, and their numbers have no gaps. end_bytes of a row counts all
 * bytes that were ever added to its shard up to its end, so the size between
 * two rows is known without reading the rows in between. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS outbox_shard(id INTEGER PRIMARY KEY,"
	" node INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
	" stored_ms INTEGER NOT NULL, end_bytes INTEGER NOT NULL,"
	" body BLOB NOT NULL)";

enum { NUMBER_BITS = 56 };

/* The other columns of a row. */
enum { ROW_BYTES = 38 };

/* Limit of one transaction, for a limit that is smaller than before. */
enum { DROPS_MAX = 1000 };

/* The range of rows of a shard. */
struct extent {
	uint64_t first, next;		 /* numbers in the shard, from 1 */
	uint64_t begin_bytes, end_bytes; /* as in the column end_bytes */
	uint64_t first_ms;		 /* stored_ms of the first row */
};

struct state {
	struct extent shards[OUTBOX_SHARDS];
	uint64_t dropped;
};

struct outbox_table {
	struct sqlite3 *db;
	struct sqlite3_stmt *add, *drop, *find_end, *find_time;
	uint64_t bytes_max;
	struct state now, committed, before_batch;
};

static uint64_t row_bytes(size_t body)
{
	return db_row_bytes(body + ROW_BYTES);
}

static int64_t id_of(size_t shard, uint64_t number)
{
	return (int64_t)((uint64_t)shard << NUMBER_BITS | number);
}

static size_t shard_of(uint64_t id)
{
	return (size_t)(id >> NUMBER_BITS);
}

static uint64_t number_of(uint64_t id)
{
	return id & ((UINT64_C(1) << NUMBER_BITS) - 1);
}

static bool is_empty(const struct extent *extent)
{
	return extent->first == extent->next;
}

static int read_extent(struct outbox_table *table, size_t shard,
	struct error *err)
{
	struct extent *extent = &table->now.shards[shard];
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, table->db,
		"SELECT a.id, a.end_bytes, length(a.body), a.stored_ms,"
		" b.id, b.end_bytes FROM outbox_shard a, outbox_shard b"
		" WHERE a.id = (SELECT min(id) FROM outbox_shard"
		" WHERE id >= ?1 AND id < ?2)"
		" AND b.id = (SELECT max(id) FROM outbox_shard"
		" WHERE id >= ?1 AND id < ?2)",
		err);

	*extent = (struct extent){ .first = 1, .next = 1 };
	if (r == 0) {
		(void)sqlite3_bind_int64(find, 1, id_of(shard, 0));
		(void)sqlite3_bind_int64(find, 2, id_of(shard + 1, 0));
	}
	if (db_step(&r, find, err)) {
		*extent = (struct extent){
			.first = number_of(
				(uint64_t)sqlite3_column_int64(find, 0)),
			.begin_bytes = (uint64_t)sqlite3_column_int64(find, 1) -
				row_bytes(
					(size_t)sqlite3_column_int64(find, 2)),
			.first_ms = (uint64_t)sqlite3_column_int64(find, 3),
			.next = number_of((uint64_t)sqlite3_column_int64(find,
					4)) +
				1,
			.end_bytes = (uint64_t)sqlite3_column_int64(find, 5),
		};
	}
	(void)sqlite3_finalize(find);
	return r;
}

static int read_extents(struct outbox_table *table, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < OUTBOX_SHARDS; i++) {
		r = read_extent(table, i, err);
	}
	table->committed = table->now;
	return r;
}

int outbox_table_new(struct outbox_table **out, struct sqlite3 *db,
	uint64_t bytes_max, struct error *err)
{
	struct outbox_table *table = xcalloc(1, sizeof(*table));
	const struct db_statement all[] = {
		{ &table->add,
			"INSERT INTO outbox_shard(id, node, sample_ms,"
			" stored_ms, end_bytes, body)"
			" VALUES (?, ?, ?, ?, ?, ?)" },
		{ &table->drop,
			"DELETE FROM outbox_shard WHERE id >= ? AND id < ?" },
		{ &table->find_end,
			"SELECT end_bytes FROM outbox_shard WHERE id = ?" },
		{ &table->find_time,
			"SELECT stored_ms FROM outbox_shard WHERE id = ?" },
	};
	int r = db_exec(db, schema, err);

	table->db = db;
	table->bytes_max = bytes_max;
	r = r == 0 ? db_prepare_all(db, all, count_of(all), err) : r;
	r = r == 0 ? read_extents(table, err) : r;
	if (r < 0) {
		outbox_table_free(table);
		return r;
	}
	*out = table;
	return 0;
}

void outbox_table_free(struct outbox_table *table)
{
	if (table != NULL) {
		(void)sqlite3_finalize(table->add);
		(void)sqlite3_finalize(table->drop);
		(void)sqlite3_finalize(table->find_end);
		(void)sqlite3_finalize(table->find_time);
		free(table);
	}
}

/* The column of a row that a statement finds. */
static int find(uint64_t *out, struct sqlite3_stmt *statement, int64_t id,
	struct error *err)
{
	int r = 0;

	(void)sqlite3_bind_int64(statement, 1, id);
	if (db_step(&r, statement, err)) {
		*out = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	(void)sqlite3_reset(statement);
	return r;
}

/* Deletes the rows of a shard before the row with this number. */
static int begin_at(struct outbox_table *table, size_t shard, uint64_t first,
	struct error *err)
{
	struct extent *extent = &table->now.shards[shard];
	struct extent rest = *extent;
	int r = find(&rest.begin_bytes, table->find_end,
		id_of(shard, first - 1), err);

	rest.first = first;
	if (r == 0 && !is_empty(&rest)) {
		r = find(&rest.first_ms, table->find_time, id_of(shard, first),
			err);
	}
	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(table->drop, 1, id_of(shard, extent->first));
	(void)sqlite3_bind_int64(table->drop, 2, id_of(shard, first));
	r = db_run(table->drop, err);
	if (r == 0) {
		*extent = rest;
	}
	return r;
}

/* The shard with the oldest report. */
static size_t oldest_shard(const struct state *state)
{
	size_t oldest = 0;
	uint64_t oldest_ms = UINT64_MAX;

	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		const struct extent *extent = &state->shards[i];

		if (!is_empty(extent) && extent->first_ms < oldest_ms) {
			oldest = i;
			oldest_ms = extent->first_ms;
		}
	}
	return oldest;
}

static uint64_t bytes_of(const struct state *state)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		bytes += state->shards[i].end_bytes -
			state->shards[i].begin_bytes;
	}
	return bytes;
}

static int make_room(struct outbox_table *table, struct error *err)
{
	struct state *now = &table->now;
	int r = 0;

	for (int i = 0;
		r == 0 && i < DROPS_MAX && bytes_of(now) > table->bytes_max;
		i++) {
		size_t shard = oldest_shard(now);

		r = begin_at(table, shard, now->shards[shard].first + 1, err);
		now->dropped += r == 0 ? 1 : 0;
	}
	return r;
}

int outbox_table_append(struct outbox_table *table,
	const struct head_report *report, struct error *err)
{
	size_t shard = (size_t)report->node % OUTBOX_SHARDS;
	struct extent *extent = &table->now.shards[shard];
	uint64_t end_bytes = extent->end_bytes + row_bytes(report->len);
	int r;

	(void)sqlite3_bind_int64(table->add, 1, id_of(shard, extent->next));
	(void)sqlite3_bind_int64(table->add, 2, report->node);
	(void)sqlite3_bind_int64(table->add, 3, (int64_t)report->sample_ms);
	(void)sqlite3_bind_int64(table->add, 4, (int64_t)report->stored_ms);
	(void)sqlite3_bind_int64(table->add, 5, (int64_t)end_bytes);
	(void)sqlite3_bind_blob64(table->add, 6, report->body, report->len,
		SQLITE_STATIC);
	r = db_run(table->add, err);
	if (r < 0) {
		return r;
	}
	extent->first_ms =
		is_empty(extent) ? report->stored_ms : extent->first_ms;
	extent->next++;
	extent->end_bytes = end_bytes;
	return 0;
}

int outbox_table_add(struct outbox_table *table,
	const struct head_report *report, struct error *err)
{
	int r;

	if (table->bytes_max == 0) {
		return 0;
	}
	r = outbox_table_append(table, report, err);
	return r < 0 ? r : make_room(table, err);
}

int outbox_table_delete_left(size_t *count, struct sqlite3 *db,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM outbox_shard WHERE id IN (SELECT id FROM"
		" outbox_shard ORDER BY id LIMIT %d)",
		DROPS_MAX);
	int r = db_exec(db, sql, err);

	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	return r;
}

int outbox_table_delete(struct outbox_table *table, uint64_t id,
	struct error *err)
{
	size_t shard = shard_of(id);
	uint64_t number = number_of(id);

	if (shard >= OUTBOX_SHARDS || number < table->now.shards[shard].first ||
		number >= table->now.shards[shard].next) {
		return 0; /* dropped meanwhile */
	}
	return begin_at(table, shard, number + 1, err);
}

void outbox_table_begin_batch(struct outbox_table *table)
{
	table->before_batch = table->now;
}

void outbox_table_undo_batch(struct outbox_table *table)
{
	table->now = table->before_batch;
}

void outbox_table_end(struct outbox_table *table, bool is_committed)
{
	if (is_committed) {
		table->committed = table->now;
	} else {
		table->now = table->committed;
	}
}

struct outbox_counts outbox_table_counts(const struct outbox_table *table)
{
	const struct state *state = &table->committed;
	struct outbox_counts counts = { .bytes = bytes_of(state),
		.dropped = state->dropped };

	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		const struct extent *extent = &state->shards[i];

		if (!is_empty(extent)) {
			counts.shards[i] = (struct outbox_shard_counts){
				.reports = extent->next - extent->first,
				.last_id = (uint64_t)id_of(i, extent->next - 1),
				.oldest_ms = extent->first_ms,
			};
		}
		counts.reports += counts.shards[i].reports;
	}
	return counts;
}

/* ---- reading ---- */

struct store_names {
	struct sqlite3_stmt *find;
};

bool store_names_find(struct store_name *out, const struct store_names *names,
	const char *pod_uid, const char *node)
{
	bool is_found;

	db_bind_text(names->find, 1, pod_uid);
	db_bind_text(names->find, 2, node);
	is_found = sqlite3_step(names->find) == SQLITE_ROW;
	if (is_found) {
		(void)snprintf(out->namespace, sizeof(out->namespace), "%s",
			(const char *)sqlite3_column_text(names->find, 0));
		(void)snprintf(out->name, sizeof(out->name), "%s",
			(const char *)sqlite3_column_text(names->find, 1));
	}
	(void)sqlite3_reset(names->find);
	return is_found;
}

/* False: the query ends here. */
static bool deliver(struct sqlite3_stmt *rows, const struct outbox_read *read)
{
	struct report report;
	struct outbox_row row = {
		.id = (uint64_t)sqlite3_column_int64(rows, 0),
		.node = (const char *)sqlite3_column_text(rows, 1),
		.sample_ms = (uint64_t)sqlite3_column_int64(rows, 2),
		.stored_ms = (uint64_t)sqlite3_column_int64(rows, 3),
	};
	bool more;

	report_init(&report);
	if (row.node[0] != '\0' &&
		wire_unpack_report(&report, sqlite3_column_blob(rows, 4),
			(size_t)sqlite3_column_bytes(rows, 4), NULL) == 0) {
		row.report = &report;
	}
	more = read->row(read->owner, &row);
	report_fini(&report);
	return more;
}

static int read_rows(struct sqlite3 *db, const struct outbox_read *read,
	struct error *err)
{
	struct sqlite3_stmt *rows = NULL;
	int r = db_prepare(&rows, db,
		"SELECT o.id, coalesce(name, ''), sample_ms, stored_ms, body"
		" FROM outbox_shard o LEFT JOIN node ON node.id = o.node"
		" WHERE o.id > ? AND o.id < ? ORDER BY o.id LIMIT ?",
		err);
	uint64_t from = (uint64_t)id_of(read->shard, 0);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(rows, 1,
		(int64_t)(read->after > from ? read->after : from));
	(void)sqlite3_bind_int64(rows, 2, id_of(read->shard + 1, 0));
	(void)sqlite3_bind_int64(rows, 3, (int64_t)read->most);
	while (db_step(&r, rows, err) && deliver(rows, read)) {
	}
	(void)sqlite3_finalize(rows);
	return r;
}

int outbox_table_read(struct sqlite3 *db, const struct outbox_read *read,
	struct error *err)
{
	struct store_names names = { 0 };
	int r = db_exec(db, "BEGIN", err);

	if (r == 0) {
		r = db_prepare(&names.find, db,
			"SELECT namespace, identity.name FROM identity"
			" JOIN node ON node.id = identity.node"
			" WHERE pod_uid = ? AND node.name = ?",
			err);
	}
	r = r == 0 ? read_rows(db, read, err) : r;
	if (r == 0) {
		read->end(read->owner, &names);
	}
	(void)sqlite3_finalize(names.find);
	db_rollback(db);
	return r;
}
