#include "aggregator/store/schema.h"

#include "aggregator/store/backup_mark.h"
#include "aggregator/store/blob_bytes.h"
#include "aggregator/store/conversion.h"
#include "aggregator/store/db.h"
#include "aggregator/store/db_file.h"
#include "aggregator/store/head.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

/* Raised with every change of the tables, and with CHUNK_VERSION. */
enum { SCHEMA_VERSION = 6 };

enum { BUSY_MS = 2000 }; /* as in store/db.c */

/* Columns of a table without rowid are in the order of the key: quick_check of
 * SQLite 3.40 takes other columns for NULL. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS"
	" node(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE run(id INTEGER PRIMARY KEY, node INTEGER NOT NULL,"
	" run_id BLOB NOT NULL, last_ms INTEGER NOT NULL,"
	" UNIQUE(node, run_id));"
	"CREATE TABLE seqs(run INTEGER NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, PRIMARY KEY(run, first)) WITHOUT ROWID;"
	"CREATE TABLE head" HEAD_COLUMNS
	";"
	"CREATE TABLE rollup_due(hour INTEGER NOT NULL, node INTEGER NOT NULL,"
	" PRIMARY KEY(hour, node)) WITHOUT ROWID;"
	"CREATE TABLE place(pod_uid TEXT NOT NULL, node INTEGER NOT NULL,"
	" first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
	" PRIMARY KEY(pod_uid, node)) WITHOUT ROWID;"
	"CREATE TABLE identity(pod_uid TEXT PRIMARY KEY, namespace TEXT"
	" NOT NULL, name TEXT NOT NULL, vmi_uid TEXT NOT NULL,"
	" seen_ms INTEGER NOT NULL, node INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX identity_name ON identity(namespace, name);"
	"PRAGMA user_version = 6;";

/* Databases had no application id at first. A database without one is the
 * store's if it is empty or has the two tables of that time. */
static int check_owner(struct sqlite3 *db, struct error *err)
{
	int64_t id = 0, tables = 0, known = 0;
	int r = db_read_number(&id, db, "PRAGMA application_id", err);

	if (r == 0) {
		r = db_read_number(&tables, db,
			"SELECT count(*) FROM sqlite_schema", err);
	}
	if (r == 0) {
		r = db_read_number(&known, db,
			"SELECT count(*) FROM sqlite_schema WHERE type = "
			"'table' AND name IN ('node', 'report')",
			err);
	}
	if (r == 0 && id != DB_FILE_APPLICATION_ID && id != BACKUP_MARK_ID &&
		(id != 0 || (tables > 0 && known != 2))) {
		r = error_set(err, -EINVAL,
			"another program's database; left unchanged");
	}
	return r;
}

int store_schema_check_owner(const char *path, struct error *err)
{
	struct sqlite3 *db = NULL;
	int r;

	if (access(path, F_OK) != 0) {
		return 0;
	}
	r = db_open_readonly(&db, path, BUSY_MS, err);
	r = r == 0 ? check_owner(db, err) : r;
	(void)sqlite3_close(db);
	return r < 0 ? error_wrap(err, r, "cannot use the database '%s'", path)
		     : 0;
}

/* Sets the application id if it is not set yet. */
static int set_owner(struct sqlite3 *db, struct error *err)
{
	scoped_free char *sql = xasprintf("PRAGMA application_id = %d",
		(int)DB_FILE_APPLICATION_ID);
	int64_t id = 0;
	int r = db_read_number(&id, db, "PRAGMA application_id", err);

	return r < 0 || id == DB_FILE_APPLICATION_ID ? r
						     : db_exec(db, sql, err);
}

static int create(struct sqlite3 *db, struct error *err)
{
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? db_exec(db, schema, err) : r;
	return db_end(db, r, err);
}

int store_schema_check_format(struct sqlite3 *db, struct error *err)
{
	int64_t version = 0;
	int r = db_read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version != SCHEMA_VERSION) {
		r = error_set(err, -ENOTSUP,
			"its format is %d, this program reads %d", (int)version,
			SCHEMA_VERSION);
	}
	return r;
}

int store_schema_prepare(struct sqlite3 *db, const _Atomic bool *stopping,
	struct error *err)
{
	int64_t version = 0;
	int r = db_read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version > SCHEMA_VERSION) {
		r = error_set(err, -ENOTSUP,
			"it was written by a newer plimsoll (format %d, this "
			"program supports %d)",
			(int)version, SCHEMA_VERSION);
	}
	r = r == 0 && version < 1 ? create(db, err) : r;
	r = r == 0 ? set_owner(db, err) : r;
	r = r == 0 ? blob_bytes_prepare(db, err) : r;
	if (r == 0 && version >= 1 && version < SCHEMA_VERSION) {
		r = conversion_run(db, schema, stopping, err);
	}
	return r < 0 ? error_wrap(err, r, "cannot use the database '%s'",
			       sqlite3_db_filename(db, "main"))
		     : 0;
}
