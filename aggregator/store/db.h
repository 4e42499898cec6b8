/* A connection to SQLite and what every module of the store does with one.
 *
 * Errors are -errno by SQLite's code: -ENOSPC (full), -EBUSY (locked),
 * -EBADMSG (damaged, or not a database), -EACCES (read-only), -EDQUOT (a
 * value is above a limit of SQLite), -EIO (others). */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

/* Opens a file for reading and writing with the store's settings. Also -EROFS:
 * the file is read-only; -EINVAL: the path does not name a file. */
must_check int db_open(struct sqlite3 **out, const char *path,
	struct error *err);

/* Opens a file for reading only and waits busy_ms for locks. */
must_check int db_open_readonly(struct sqlite3 **out, const char *path,
	int busy_ms, struct error *err);

must_check int db_exec(struct sqlite3 *db, const char *sql, struct error *err);
must_check int db_prepare(struct sqlite3_stmt **out, struct sqlite3 *db,
	const char *sql, struct error *err);

struct db_statement {
	struct sqlite3_stmt **out;
	const char *sql;
};

/* Prepares a list of statements. The caller finalizes them, also after an
 * error. */
must_check int db_prepare_all(struct sqlite3 *db,
	const struct db_statement *list, size_t count, struct error *err);

/* Binds a text, which the caller keeps until the statement has run. */
void db_bind_text(struct sqlite3_stmt *statement, int at, const char *text);

/* Executes a statement that returns no rows, then clears its bindings. */
must_check int db_run(struct sqlite3_stmt *statement, struct error *err);

/* Steps to the next row. False: there are no more rows, or *r is an error,
 * which may be an error from before. */
bool db_step(int *r, struct sqlite3_stmt *statement, struct error *err);

/* The first column of the first row; *out stays as it is without a row. */
must_check int db_read_number(int64_t *out, struct sqlite3 *db, const char *sql,
	struct error *err);

/* column NULL: whether there is the table. */
bool db_has_column(struct sqlite3 *db, const char *table, const char *column);

/* Rows of one transaction; its fsync may take a second. */
enum { DB_MOVED_ROWS = 5000 };

/* Rows to take out of a table, which is converted. */
struct db_old_rows {
	const char *table;
	const char *columns; /* that follow the id, which is column 0 */
	int (*row)(void *owner, struct sqlite3_stmt *row, struct error *err);
};

/* Passes up to DB_MOVED_ROWS to old->row, by rising id, and deletes them.
 * *moved: their number. The error may be one of old->row. Inside the caller's
 * transaction. */
must_check int db_move_rows(int64_t *moved, struct sqlite3 *db,
	const struct db_old_rows *old, void *owner, struct error *err);

/* Bytes of the file that a row of a table takes: its share of a page, and the
 * pages of its own if it is large. payload: the bytes of all its columns. */
uint64_t db_row_bytes(size_t payload);

/* Ends a transaction: commits if r is 0, else rolls back. Returns r, or the
 * error of the commit. */
must_check int db_end(struct sqlite3 *db, int r, struct error *err);
void db_rollback(struct sqlite3 *db);

/* Sets err to `what` and the connection's last error; returns its code. */
int db_error(struct sqlite3 *db, struct error *err, const char *what);
