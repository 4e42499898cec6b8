#include "aggregator/store/blob_bytes.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"

#include <sqlite3.h>

static const char schema[] =
	"CREATE TABLE blob_bytes(node INTEGER PRIMARY KEY,"
	" bytes INTEGER NOT NULL)";

static int count_table(struct sqlite3 *db, const char *table, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"INSERT INTO blob_bytes SELECT node, sum(length(body)) FROM %s"
		" WHERE true GROUP BY node ON CONFLICT(node)"
		" DO UPDATE SET bytes = bytes + excluded.bytes",
		table);

	return db_exec(db, sql, err);
}

static int count_all(struct sqlite3 *db, struct error *err)
{
	struct sqlite3_stmt *tables = NULL;
	int r = db_prepare(&tables, db,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND"
		" (name GLOB 'raw_[0-9]*' OR name GLOB 'm1_[0-9]*'"
		" OR name GLOB 'h1_[0-9]*')",
		err);

	while (db_step(&r, tables, err)) {
		r = count_table(db,
			(const char *)sqlite3_column_text(tables, 0), err);
	}
	(void)sqlite3_finalize(tables);
	return r;
}

int blob_bytes_prepare(struct sqlite3 *db, struct error *err)
{
	int r;

	if (sqlite3_table_column_metadata(db, "main", "blob_bytes", NULL, NULL,
		    NULL, NULL, NULL, NULL) == SQLITE_OK) {
		return 0;
	}
	r = db_exec(db, "BEGIN IMMEDIATE", err);
	r = r == 0 ? db_exec(db, schema, err) : r;
	r = r == 0 ? count_all(db, err) : r;
	return db_end(db, r, err);
}

/* An older program does not count, so a sum may be too small. */
int blob_bytes_add(struct sqlite3 *db, int64_t node, int64_t bytes,
	struct error *err)
{
	struct sqlite3_stmt *add = NULL;
	int r = db_prepare(&add, db,
		"INSERT INTO blob_bytes VALUES (?1, max(?2, 0))"
		" ON CONFLICT(node) DO UPDATE SET bytes = max(bytes + ?2, 0)",
		err);

	if (r == 0) {
		(void)sqlite3_bind_int64(add, 1, node);
		(void)sqlite3_bind_int64(add, 2, bytes);
		r = db_run(add, err);
	}
	(void)sqlite3_finalize(add);
	return r;
}

int blob_bytes_read(struct sqlite3 *db,
	void (*found)(void *owner, int64_t node, uint64_t bytes), void *owner,
	struct error *err)
{
	struct sqlite3_stmt *all = NULL;
	int r = db_prepare(&all, db, "SELECT node, bytes FROM blob_bytes", err);

	while (db_step(&r, all, err)) {
		found(owner, sqlite3_column_int64(all, 0),
			(uint64_t)sqlite3_column_int64(all, 1));
	}
	(void)sqlite3_finalize(all);
	return r;
}
