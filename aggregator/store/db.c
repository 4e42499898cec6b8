#include "aggregator/store/db.h"

#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>

/* Another process that reads the file (a backup, a shell) may hold a lock for
 * a moment. */
enum { BUSY_MS = 2000 };

/* SQLite has codes of its own for some files that cannot grow. */
static bool is_out_of_space(struct sqlite3 *db)
{
	int code = sqlite3_system_errno(db);

	return code == ENOSPC || code == EDQUOT;
}

static int errno_of(struct sqlite3 *db, int sqlite)
{
	switch (sqlite & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_TOOBIG:
		return -EDQUOT;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return is_out_of_space(db) ? -ENOSPC : -EIO;
	default:
		return -EIO;
	}
}

int db_error(struct sqlite3 *db, struct error *err, const char *what)
{
	return error_set(err, errno_of(db, sqlite3_extended_errcode(db)),
		"%s: %s", what, sqlite3_errmsg(db));
}

int db_exec(struct sqlite3 *db, const char *sql, struct error *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		return db_error(db, err, "database error");
	}
	return 0;
}

int db_prepare(struct sqlite3_stmt **out, struct sqlite3 *db, const char *sql,
	struct error *err)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out,
		    NULL) != SQLITE_OK) {
		return db_error(db, err, "database error");
	}
	return 0;
}

int db_prepare_all(struct sqlite3 *db, const struct db_statement *list,
	size_t count, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = db_prepare(list[i].out, db, list[i].sql, err);
	}
	return r;
}

void db_bind_text(struct sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

int db_run(struct sqlite3_stmt *statement, struct error *err)
{
	int r = sqlite3_step(statement) == SQLITE_DONE
		? 0
		: db_error(sqlite3_db_handle(statement), err, "cannot write");

	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

bool db_step(int *r, struct sqlite3_stmt *statement, struct error *err)
{
	int step = *r < 0 ? SQLITE_DONE : sqlite3_step(statement);

	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		*r = db_error(sqlite3_db_handle(statement), err,
			"database error");
	}
	return step == SQLITE_ROW;
}

int db_read_number(int64_t *out, struct sqlite3 *db, const char *sql,
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, sql, err);

	if (db_step(&r, statement, err)) {
		*out = sqlite3_column_int64(statement, 0);
	}
	(void)sqlite3_finalize(statement);
	return r;
}

/* By SQLite's file format, section 1.6, for pages without reserved bytes. */
uint64_t db_row_bytes(size_t payload)
{
	enum {
		PAGE = 4096,
		HEADER = 8,	     /* of a page */
		CELL = 12,	     /* pointer, length and rowid */
		MOST = PAGE - 35,    /* of a payload on the row's page */
		LEAST = 489,	     /* of a larger payload */
		OVERFLOW = PAGE - 4, /* of a payload on a further page */
	};
	size_t local = payload, pages = 0;

	if (payload > MOST) {
		local = LEAST + (payload - LEAST) % OVERFLOW;
		local = local > MOST ? LEAST : local;
		pages = (payload - local + OVERFLOW - 1) / OVERFLOW;
	}
	local = (PAGE - HEADER) / (local + CELL);
	return pages * PAGE + PAGE / (local > 0 ? local : 1);
}

void db_rollback(struct sqlite3 *db)
{
	/* Some failures have rolled back already. */
	if (sqlite3_get_autocommit(db) == 0) {
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
}

bool db_has_column(struct sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL,
		       NULL, NULL, NULL, NULL) == SQLITE_OK;
}

int db_move_rows(int64_t *moved, struct sqlite3 *db,
	const struct db_old_rows *old, void *owner, struct error *err)
{
	scoped_free char *select =
		xasprintf("SELECT id, %s FROM %s ORDER BY id LIMIT %d",
			old->columns, old->table, DB_MOVED_ROWS);
	struct sqlite3_stmt *rows = NULL;
	int64_t last = 0;
	int r = db_prepare(&rows, db, select, err);

	*moved = 0;
	while (db_step(&r, rows, err)) {
		last = sqlite3_column_int64(rows, 0);
		(*moved)++;
		r = old->row(owner, rows, err);
	}
	(void)sqlite3_finalize(rows);
	if (r == 0) {
		scoped_free char *delete =
			xasprintf("DELETE FROM %s WHERE id <= %lld", old->table,
				(long long)last);

		r = db_exec(db, delete, err);
	}
	return r;
}

int db_end(struct sqlite3 *db, int r, struct error *err)
{
	r = r == 0 ? db_exec(db, "COMMIT", err) : r;
	if (r < 0) {
		db_rollback(db);
	}
	return r;
}

/* FULL: what the aggregator acknowledged survives a power cut; as commits are
 * grouped, FULL costs 3 % more than NORMAL. secure_delete is on in Debian's
 * build and would overwrite with zeroes all that retention deletes. */
static const char settings[] =
	"PRAGMA journal_mode = WAL;"
	"PRAGMA synchronous = FULL;"
	"PRAGMA secure_delete = OFF;"
	"PRAGMA journal_size_limit = 67108864;"
	"PRAGMA trusted_schema = OFF;";

/* SQLite opens two kinds of file that the store cannot use: a read-only file,
 * which stays read-only for SQLite even if the file is made writable later;
 * and "" or ":memory:", which are a separate database for each connection. */
static int check_file(struct sqlite3 *db, struct error *err)
{
	const char *file = sqlite3_db_filename(db, "main");

	if (file == NULL || *file == '\0') {
		return error_set(err, -EINVAL, "not a file");
	}
	if (sqlite3_db_readonly(db, "main") == 1) {
		return error_set(err, -EROFS, "the file is read-only");
	}
	return 0;
}

static int open_file(struct sqlite3 **out, const char *path, int flags,
	int busy_ms, struct error *err)
{
	struct sqlite3 *db = NULL;
	int r;

	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) !=
		SQLITE_OK) {
		r = db_error(db, err, "cannot open");
		(void)sqlite3_close(db);
		return r;
	}
	(void)sqlite3_busy_timeout(db, busy_ms);
	*out = db;
	return 0;
}

int db_open(struct sqlite3 **out, const char *path, struct error *err)
{
	struct sqlite3 *db = NULL;
	int r = open_file(&db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
		BUSY_MS, err);

	r = r == 0 ? check_file(db, err) : r;
	if (r == 0) {
		(void)sqlite3_extended_result_codes(db, 1);
		r = db_exec(db, settings, err);
	}
	if (r < 0) {
		(void)sqlite3_close(db);
		return error_wrap(err, r, "cannot use the database '%s'", path);
	}
	*out = db;
	return 0;
}

int db_open_readonly(struct sqlite3 **out, const char *path, int busy_ms,
	struct error *err)
{
	return open_file(out, path, SQLITE_OPEN_READONLY, busy_ms, err);
}
