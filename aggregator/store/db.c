#include "aggregator/store/thread.h"

#include "aggregator/store/db_file.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Raised with every change of the tables. */
enum { SCHEMA_VERSION = 2 };

/* Another process that looks into the file (backup, a shell) may hold a lock
 * for a moment. */
enum { BUSY_MS = 2000 };

/* Beside these there are the tables of store_part.h. `tail` and `seqs` are
 * store_tail.h's. `place` says on which nodes a pod was and when, `identity`
 * whose it is. Hours whose chunks have changed since they were rolled up stand
 * in rollup_due. Columns of a table without rowid stand in their key's order:
 * quick_check of SQLite 3.40 takes others for NULL. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS"
	" node(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE run(id INTEGER PRIMARY KEY, node INTEGER NOT NULL,"
	" run_id BLOB NOT NULL, last_ms INTEGER NOT NULL,"
	" UNIQUE(node, run_id));"
	"CREATE TABLE seqs(run INTEGER NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, PRIMARY KEY(run, first)) WITHOUT ROWID;"
	"CREATE TABLE tail(id INTEGER PRIMARY KEY, run INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
	" stored_ms INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE TABLE rollup_due(hour INTEGER NOT NULL, node INTEGER NOT NULL,"
	" PRIMARY KEY(hour, node)) WITHOUT ROWID;"
	"CREATE TABLE place(pod_uid TEXT NOT NULL, node INTEGER NOT NULL,"
	" first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
	" PRIMARY KEY(pod_uid, node)) WITHOUT ROWID;"
	"CREATE TABLE identity(pod_uid TEXT PRIMARY KEY, namespace TEXT"
	" NOT NULL, name TEXT NOT NULL, vmi_uid TEXT NOT NULL,"
	" seen_ms INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX identity_name ON identity(namespace, name);"
	"PRAGMA user_version = 2;";

static int errno_of(int sqlite)
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
	default:
		return -EIO;
	}
}

int store_db_error(struct sqlite3 *db, struct error *err, const char *what)
{
	return error_set(err, errno_of(sqlite3_extended_errcode(db)), "%s: %s",
		what, sqlite3_errmsg(db));
}

int store_db_exec(struct sqlite3 *db, const char *sql, struct error *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		return store_db_error(db, err, "the database refused");
	}
	return 0;
}

int store_db_prepare(struct sqlite3_stmt **out, struct sqlite3 *db,
	const char *sql, struct error *err)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out,
		    NULL) != SQLITE_OK) {
		return store_db_error(db, err, "the database refused");
	}
	return 0;
}

void store_db_rollback(struct sqlite3 *db)
{
	/* Some failures have rolled back already. */
	if (sqlite3_get_autocommit(db) == 0) {
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
}

/* FULL: what we acknowledged survives a power cut; grouped commits make it
 * cost 3 % over NORMAL. secure_delete is on in Debian's build and would write
 * zeroes over all that retention deletes. */
static const char settings[] =
	"PRAGMA journal_mode = WAL;"
	"PRAGMA synchronous = FULL;"
	"PRAGMA secure_delete = OFF;"
	"PRAGMA journal_size_limit = 67108864;"
	"PRAGMA trusted_schema = OFF;";

/* What SQLite opens with a good grace and we cannot live with: a file that it
 * may only read, even if it is made writable later; and "" or ":memory:", which
 * each connection has for itself. */
static int check_file(struct sqlite3 *db, struct error *err)
{
	const char *file = sqlite3_db_filename(db, "main");

	if (file == NULL || *file == '\0') {
		return error_set(err, -EINVAL, "that is no file");
	}
	if (sqlite3_db_readonly(db, "main") == 1) {
		return error_set(err, -EROFS, "it may only be read");
	}
	return 0;
}

/* One number that a statement gives. */
static int read_number(int *number, struct sqlite3 *db, const char *sql,
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = store_db_prepare(&statement, db, sql, err);

	if (r == 0 && sqlite3_step(statement) == SQLITE_ROW) {
		*number = sqlite3_column_int(statement, 0);
	} else if (r == 0) {
		r = store_db_error(db, err, "cannot read it");
	}
	(void)sqlite3_finalize(statement);
	return r;
}

/* Without an application id it is ours if it is empty or holds the tables that
 * databases had before they got one. */
static int check_owner(struct sqlite3 *db, struct error *err)
{
	int id = 0, tables = 0, known = 0;
	int r = read_number(&id, db, "PRAGMA application_id", err);

	if (r == 0) {
		r = read_number(&tables, db,
			"SELECT count(*) FROM sqlite_schema", err);
	}
	if (r == 0) {
		r = read_number(&known, db,
			"SELECT count(*) FROM sqlite_schema WHERE type = "
			"'table' AND name IN ('node', 'report')",
			err);
	}
	if (r == 0 && id != STORE_APPLICATION_ID &&
		(id != 0 || (tables > 0 && known != 2))) {
		r = error_set(err, -EINVAL,
			"it is another program's database, and it is not "
			"touched");
	}
	return r;
}

int store_db_check_owner(const char *path, struct error *err)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
	struct sqlite3 *db = NULL;
	int r = 0;

	if (access(path, F_OK) != 0) {
		return 0;
	}
	if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
		r = store_db_error(db, err, "cannot open");
	} else {
		(void)sqlite3_busy_timeout(db, BUSY_MS);
		r = check_owner(db, err);
	}
	(void)sqlite3_close(db);
	return r < 0 ? error_wrap(err, r, "cannot use the database '%s'", path)
		     : 0;
}

int store_db_open(struct sqlite3 **out, const char *path, struct error *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		SQLITE_OPEN_NOMUTEX;
	struct sqlite3 *db = NULL;
	int r = 0;

	if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
		r = store_db_error(db, err, "cannot open");
	}
	if (r == 0) {
		r = check_file(db, err);
	}
	if (r == 0) {
		(void)sqlite3_extended_result_codes(db, 1);
		(void)sqlite3_busy_timeout(db, BUSY_MS);
		r = store_db_exec(db, settings, err);
	}
	if (r < 0) {
		(void)sqlite3_close(db);
		return error_wrap(err, r, "cannot use the database '%s'", path);
	}
	*out = db;
	return 0;
}

/* Says whose the file is, where that is not said yet. */
static int sign(struct sqlite3 *db, struct error *err)
{
	scoped_free char *sql = xasprintf("PRAGMA application_id = %d",
		(int)STORE_APPLICATION_ID);
	int id = 0;
	int r = read_number(&id, db, "PRAGMA application_id", err);

	return r < 0 || id == STORE_APPLICATION_ID
		? r
		: store_db_exec(db, sql, err);
}

static int create_schema(struct sqlite3 *db, struct error *err)
{
	int r = store_db_exec(db, "BEGIN IMMEDIATE", err);

	if (r == 0) {
		r = store_db_exec(db, schema, err);
	}
	if (r == 0) {
		r = store_db_exec(db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(db);
	}
	return r;
}

int store_db_check_format(struct sqlite3 *db, struct error *err)
{
	int version = 0;
	int r = read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version != SCHEMA_VERSION) {
		r = error_set(err, -ENOTSUP,
			"its format is %d, this program reads %d", version,
			SCHEMA_VERSION);
	}
	return r;
}

int store_db_prepare_schema(struct sqlite3 *db, const _Atomic bool *stopping,
	struct error *err)
{
	int version = 0;
	int r = read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version > SCHEMA_VERSION) {
		r = error_set(err, -ENOTSUP,
			"it was written by a newer plimsoll (its format is %d, "
			"this program knows %d)",
			version, SCHEMA_VERSION);
	}
	if (r == 0 && version == 1) {
		r = store_migrate(db, schema, stopping, err);
	}
	if (r == 0 && version < 1) {
		r = create_schema(db, err);
	}
	if (r == 0) {
		r = sign(db, err);
	}
	return r < 0 ? error_wrap(err, r, "cannot use the database '%s'",
			       sqlite3_db_filename(db, "main"))
		     : 0;
}
