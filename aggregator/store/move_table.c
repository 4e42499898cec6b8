#include "aggregator/store/move_table.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>

const struct record_table move_table_records = {
	.name = "move",
	.time_column = "wall_ms",
	.row_bytes = 400,
};

struct move_table {
	struct sqlite3_stmt *put;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS move (id INTEGER PRIMARY KEY,"
	" move_id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,"
	" namespace TEXT NOT NULL, vm TEXT NOT NULL, source TEXT NOT NULL,"
	" target TEXT NOT NULL, state INTEGER NOT NULL,"
	" wall_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL,"
	" body BLOB NOT NULL);"
	"CREATE INDEX IF NOT EXISTS move_vm ON move (namespace, vm, wall_ms);"
	"CREATE INDEX IF NOT EXISTS move_namespace ON move"
	" (namespace, wall_ms);"
	"CREATE INDEX IF NOT EXISTS move_source ON move (source, wall_ms);"
	"CREATE INDEX IF NOT EXISTS move_target ON move (target, wall_ms);"
	"CREATE INDEX IF NOT EXISTS move_state ON move (state, wall_ms);"
	"CREATE INDEX IF NOT EXISTS move_time ON move (wall_ms)";

int move_table_new(struct move_table **out, struct sqlite3 *db,
	struct error *err)
{
	struct move_table *table = xcalloc(1, sizeof(*table));
	const struct db_statement all[] = {
		{ &table->put,
			"INSERT INTO move (move_id, revision, namespace, vm,"
			" source, target, state, wall_ms, changed_ms, body)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
			" ON CONFLICT (move_id) DO UPDATE SET"
			" revision = excluded.revision,"
			" namespace = excluded.namespace, vm = excluded.vm,"
			" source = excluded.source, target = excluded.target,"
			" state = excluded.state, wall_ms = excluded.wall_ms,"
			" changed_ms = excluded.changed_ms,"
			" body = excluded.body"
			" WHERE excluded.revision > move.revision" },
	};
	int r = db_exec(db, schema, err);

	r = r == 0 ? db_prepare_all(db, all, count_of(all), err) : r;
	if (r < 0) {
		move_table_free(table);
		return r;
	}
	*out = table;
	return 0;
}

void move_table_free(struct move_table *table)
{
	if (table != NULL) {
		(void)sqlite3_finalize(table->put);
		free(table);
	}
}

static int put(void *owner, const uint8_t *body, size_t len, struct error *err)
{
	struct move_table *table = owner;
	struct sqlite3_stmt *statement = table->put;
	struct move_record move;
	int r = wire_unpack_move(&move, body, len, err);
	int at = 1;

	if (r < 0) {
		return r;
	}
	db_bind_text(statement, at++, move.id);
	(void)sqlite3_bind_int64(statement, at++, move.revision);
	db_bind_text(statement, at++, move.namespace);
	db_bind_text(statement, at++, move.vm);
	db_bind_text(statement, at++, move.source);
	db_bind_text(statement, at++, move.target);
	(void)sqlite3_bind_int(statement, at++, (int)move.state);
	(void)sqlite3_bind_int64(statement, at++,
		(int64_t)(move.wall_us / 1000));
	(void)sqlite3_bind_int64(statement, at++,
		(int64_t)(move_changed_us(&move) / 1000));
	(void)sqlite3_bind_blob(statement, at, body, (int)len, SQLITE_STATIC);
	return db_run(statement, err);
}

int move_table_write(struct move_table *table, const struct store_batch *batch,
	struct error *err)
{
	return record_table_write(batch, put, table, err);
}

/* ---- reading ---- */

/* False: the query ends here. */
static bool deliver(struct sqlite3_stmt *statement,
	const struct store_moves_read *read)
{
	struct store_move move;

	if (wire_unpack_move(&move.record, sqlite3_column_blob(statement, 0),
		    (size_t)sqlite3_column_bytes(statement, 0), NULL) < 0) {
		return true; /* a record that cannot be read is left out */
	}
	move.row = (uint64_t)sqlite3_column_int64(statement, 1);
	return read->move(read->owner, &move);
}

/* By row for a leader, else newest first. */
static const char *order_of(const struct store_moves_read *read)
{
	return read->is_by_row ? "ORDER BY id"
			       : "ORDER BY wall_ms DESC, id DESC";
}

/* A unary plus keeps SQLite from the index of that column: the index of a VM
 * leads to fewer rows than that of a state or a node. */
static char *filter_of(const struct store_moves_read *read)
{
	bool is_of_vm = read->vm[0] != '\0';
	bool is_of_namespace = !is_of_vm && read->namespace[0] != '\0';
	const char *plus =
		read->namespace[0] != '\0' || read->node[0] != '\0' ? "+" : "";

	return xasprintf(
		"SELECT body, id, wall_ms FROM move WHERE"
		" changed_ms >= ?1%s%s%s%s%s%s",
		is_of_vm ? " AND namespace = ?2 AND vm = ?3" : "",
		is_of_namespace ? " AND namespace = ?2" : "",
		read->id[0] != '\0' ? " AND move_id = ?9" : "",
		read->has_state ? " AND " : "", read->has_state ? plus : "",
		read->has_state ? "state = ?5" : "");
}

/* Each query ends after its limit without a look at the other rows: the moves
 * of a node are two lists that SQLite merges. */
static char *query_of(const struct store_moves_read *read)
{
	scoped_free char *filter = filter_of(read);
	const char *from = read->is_by_row ? " AND id > ?6"
					   : " AND (wall_ms, id) < (?7, ?6)";
	const char *plus = read->vm[0] == '\0' && !read->is_by_row ? "" : "+";

	if (read->node[0] == '\0') {
		return xasprintf("%s%s %s LIMIT ?8", filter, from,
			order_of(read));
	}
	return xasprintf(
		"%s AND %ssource = ?4%s UNION ALL "
		"%s AND %starget = ?4 AND source <> ?4%s %s LIMIT ?8",
		filter, plus, from, filter, plus, from, order_of(read));
}

static int64_t at_most(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int move_table_read(struct sqlite3 *db, const struct store_moves_read *read,
	struct error *err)
{
	scoped_free char *sql = query_of(read);
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, sql, err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(statement, 1, at_most(read->since_ms));
	db_bind_text(statement, 2, read->namespace);
	db_bind_text(statement, 3, read->vm);
	db_bind_text(statement, 4, read->node);
	(void)sqlite3_bind_int(statement, 5, (int)read->state);
	(void)sqlite3_bind_int64(statement, 6,
		at_most(read->is_by_row ? read->after : read->before_row));
	(void)sqlite3_bind_int64(statement, 7, at_most(read->before_ms));
	(void)sqlite3_bind_int64(statement, 8, (int64_t)read->limit);
	if (read->id[0] != '\0') {
		db_bind_text(statement, 9, read->id);
	}
	while (db_step(&r, statement, err) && deliver(statement, read)) {
	}
	(void)sqlite3_finalize(statement);
	return r;
}
