#include "aggregator/store/outbox_table.h"

#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* end_bytes of a row counts all bytes that were ever added up to its end, so
 * the size between two rows is known without reading the rows in between. Ids
 * have no gaps. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS outbox(id INTEGER PRIMARY KEY,"
	" node INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
	" stored_ms INTEGER NOT NULL, end_bytes INTEGER NOT NULL,"
	" body BLOB NOT NULL)";

/* The other columns of a row. */
enum { ROW_BYTES = 30 };

/* Limit of one transaction, for a limit that is smaller than before. */
enum { DROPS_MAX = 1000 };

/* The range of rows in the table. */
struct extent {
	uint64_t first, next;		 /* ids */
	uint64_t begin_bytes, end_bytes; /* as in the column end_bytes */
	uint64_t dropped;
};

struct outbox_table {
	struct sqlite3 *db;
	struct sqlite3_stmt *add, *drop, *find_end;
	uint64_t bytes_max;
	struct extent now, committed, before_batch;
};

static uint64_t row_bytes(size_t body)
{
	return db_row_bytes(body + ROW_BYTES);
}

static int read_extent(struct outbox_table *table, struct error *err)
{
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, table->db,
		"SELECT a.id, a.end_bytes, length(a.body),"
		" b.id + 1, b.end_bytes FROM outbox a, outbox b"
		" WHERE a.id = (SELECT min(id) FROM outbox)"
		" AND b.id = (SELECT max(id) FROM outbox)",
		err);

	table->now = (struct extent){ .first = 1, .next = 1 };
	if (db_step(&r, find, err)) {
		table->now = (struct extent){
			.first = (uint64_t)sqlite3_column_int64(find, 0),
			.begin_bytes = (uint64_t)sqlite3_column_int64(find, 1) -
				row_bytes(
					(size_t)sqlite3_column_int64(find, 2)),
			.next = (uint64_t)sqlite3_column_int64(find, 3),
			.end_bytes = (uint64_t)sqlite3_column_int64(find, 4),
		};
	}
	(void)sqlite3_finalize(find);
	table->committed = table->now;
	return r;
}

int outbox_table_new(struct outbox_table **out, struct sqlite3 *db,
	uint64_t bytes_max, struct error *err)
{
	struct outbox_table *table = xcalloc(1, sizeof(*table));
	const struct db_statement all[] = {
		{ &table->add,
			"INSERT INTO outbox(id, node, sample_ms, stored_ms,"
			" end_bytes, body) VALUES (?, ?, ?, ?, ?, ?)" },
		{ &table->drop, "DELETE FROM outbox WHERE id < ?" },
		{ &table->find_end,
			"SELECT end_bytes FROM outbox WHERE id >= ?"
			" ORDER BY id LIMIT 1" },
	};
	int r = db_exec(db, schema, err);

	table->db = db;
	table->bytes_max = bytes_max;
	r = r == 0 ? db_prepare_all(db, all, count_of(all), err) : r;
	r = r == 0 ? read_extent(table, err) : r;
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
		free(table);
	}
}

/* end_bytes of a row. */
static int find_end(struct outbox_table *table, uint64_t *end_bytes,
	uint64_t id, struct error *err)
{
	struct sqlite3_stmt *statement = table->find_end;
	int r = 0;

	(void)sqlite3_bind_int64(statement, 1, (int64_t)id);
	if (db_step(&r, statement, err)) {
		*end_bytes = (uint64_t)sqlite3_column_int64(statement, 0);
	}
	(void)sqlite3_reset(statement);
	return r;
}

/* Deletes the rows before first, which begins at begin_bytes. */
static int begin_at(struct outbox_table *table, uint64_t first,
	uint64_t begin_bytes, struct error *err)
{
	int r;

	if (first <= table->now.first) {
		return 0;
	}
	(void)sqlite3_bind_int64(table->drop, 1, (int64_t)first);
	r = db_run(table->drop, err);
	if (r == 0) {
		table->now.first = first;
		table->now.begin_bytes = begin_bytes;
	}
	return r;
}

static int make_room(struct outbox_table *table, struct error *err)
{
	const struct extent *now = &table->now;
	uint64_t first = now->first;
	uint64_t begin_bytes = now->begin_bytes;
	uint64_t dropped;
	int r = 0;

	while (r == 0 && first < now->next && first - now->first < DROPS_MAX &&
		now->end_bytes - begin_bytes > table->bytes_max) {
		r = find_end(table, &begin_bytes, first, err);
		first++;
	}
	dropped = first - now->first;
	r = r == 0 ? begin_at(table, first, begin_bytes, err) : r;
	if (r == 0) {
		table->now.dropped += dropped;
	}
	return r;
}

int outbox_table_add(struct outbox_table *table,
	const struct head_report *report, struct error *err)
{
	struct extent *now = &table->now;
	uint64_t end_bytes = now->end_bytes + row_bytes(report->len);
	int r;

	if (table->bytes_max == 0) {
		return 0;
	}
	(void)sqlite3_bind_int64(table->add, 1, (int64_t)now->next);
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
	now->next++;
	now->end_bytes = end_bytes;
	return make_room(table, err);
}

int outbox_table_delete_left(size_t *count, struct sqlite3 *db,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM outbox WHERE id IN (SELECT id FROM outbox"
		" ORDER BY id LIMIT %d)",
		DROPS_MAX);
	int r = db_exec(db, sql, err);

	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	return r;
}

int outbox_table_delete(struct outbox_table *table, uint64_t id,
	struct error *err)
{
	uint64_t begin_bytes = 0;
	int r = 0;

	if (id < table->now.first || id >= table->now.next) {
		return 0; /* dropped meanwhile */
	}
	r = find_end(table, &begin_bytes, id, err);
	return r < 0 ? r : begin_at(table, id + 1, begin_bytes, err);
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
	const struct extent *at = &table->committed;

	return (struct outbox_counts){
		.reports = at->next - at->first,
		.bytes = at->end_bytes - at->begin_bytes,
		.dropped = at->dropped,
	};
}

/* ---- reading ---- */

struct store_names {
	struct sqlite3_stmt *find;
};

bool store_names_find(struct store_name *out, const struct store_names *names,
	const char *pod_uid, const char *node)
{
	bool is_found;

	(void)sqlite3_bind_text(names->find, 1, pod_uid, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(names->find, 2, node, -1, SQLITE_STATIC);
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
	if (wire_unpack_report(&report, sqlite3_column_blob(rows, 4),
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
		"SELECT outbox.id, name, sample_ms, stored_ms, body FROM outbox"
		" JOIN node ON node.id = outbox.node WHERE outbox.id > ?"
		" ORDER BY outbox.id LIMIT ?",
		err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(rows, 1, (int64_t)read->after);
	(void)sqlite3_bind_int64(rows, 2, (int64_t)read->most);
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
