#include "aggregator/store/migrate.h"

#include "aggregator/store/db.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>

/* Reports of one transaction; its fsync may take a second. */
enum { STEP_ROWS = 5000 };

/* column NULL: whether there is the table. */
static bool has_column(struct sqlite3 *db, const char *table,
	const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL,
		       NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* The old table keeps its name until it is empty. The first step creates the
 * new tables. */
static int begin(struct sqlite3 *db, const char *schema, struct error *err)
{
	int r = 0;

	if (!has_column(db, "tail", NULL)) {
		r = db_exec(db, schema, err);
	}
	/* Format 1 until the last step is done. */
	return r < 0 ? r : db_exec(db, "PRAGMA user_version = 1", err);
}

static int move_some(struct sqlite3 *db, struct head *head, int *moved,
	struct error *err)
{
	struct sqlite3_stmt *old = NULL;
	int r = db_prepare(&old, db,
		"SELECT node, run_id, seq, sample_ms, body, id FROM report"
		" ORDER BY id LIMIT ?",
		err);
	int64_t last = 0;

	*moved = 0;
	(void)sqlite3_bind_int(old, 1, STEP_ROWS);
	while (db_step(&r, old, err)) {
		const struct head_report report = {
			.node = sqlite3_column_int64(old, 0),
			.run_id = sqlite3_column_blob(old, 1),
			.seq = (uint64_t)sqlite3_column_int64(old, 2),
			.sample_ms = (uint64_t)sqlite3_column_int64(old, 3),
			.stored_ms = clock_wall_us() / 1000,
			.body = sqlite3_column_blob(old, 4),
			.len = (size_t)sqlite3_column_bytes(old, 4),
		};

		last = sqlite3_column_int64(old, 5);
		(*moved)++;
		if (sqlite3_column_bytes(old, 1) == REPORT_RUN_ID_BYTES) {
			r = head_add(head, &report, err);
		}
	}
	(void)sqlite3_finalize(old);
	if (r >= 0) {
		scoped_free char *sql = xasprintf(
			"DELETE FROM report WHERE id <= %lld", (long long)last);

		r = db_exec(db, sql, err);
	}
	return r;
}

static int step(struct sqlite3 *db, const char *schema, int *moved,
	struct error *err)
{
	struct head *head = NULL;
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? begin(db, schema, err) : r;
	r = r == 0 ? head_new(&head, db, err) : r;
	r = r == 0 ? move_some(db, head, moved, err) : r;
	head_free(head);
	if (r == 0 && *moved == 0) {
		r = db_exec(db, "DROP TABLE report; PRAGMA user_version = 2",
			err);
	}
	return db_end(db, r, err);
}

static int convert_reports(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err)
{
	int64_t all = 0;
	int moved = 1;
	int r = 0;

	log_info("converting the database from format 1", LOG_END);
	while (r == 0 && moved > 0) {
		r = atomic_load(stopping)
			? error_set(err, -ECANCELED, "shutting down")
			: step(db, schema, &moved, err);
		all += moved;
	}
	if (r == 0) {
		log_info("database converted", log_int("reports", all),
			LOG_END);
	}
	return r;
}

/* ---- format 2 ---- */

static int convert_identities(struct sqlite3 *db, struct error *err)
{
	static const char convert[] =
		"CREATE TABLE identity_3(pod_uid TEXT PRIMARY KEY, namespace"
		" TEXT NOT NULL, name TEXT NOT NULL, vmi_uid TEXT NOT NULL,"
		" seen_ms INTEGER NOT NULL, node INTEGER NOT NULL)"
		" WITHOUT ROWID;"
		"INSERT INTO identity_3 SELECT pod_uid, namespace, name,"
		" vmi_uid, seen_ms, coalesce((SELECT node FROM place"
		" WHERE place.pod_uid = identity.pod_uid"
		" ORDER BY first_ms, node LIMIT 1), 0) FROM identity;"
		"DROP TABLE identity;"
		"ALTER TABLE identity_3 RENAME TO identity;"
		"CREATE INDEX identity_name ON identity(namespace, name);";
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	/* A conversion from format 1 may have made the new table. */
	if (r == 0 && !has_column(db, "identity", "node")) {
		r = db_exec(db, convert, err);
	}
	r = r == 0 ? db_exec(db, "PRAGMA user_version = 3", err) : r;
	return db_end(db, r, err);
}

/* ---- format 3 ---- */

/* The index reads the whole table once. */
static int add_vm(struct sqlite3 *db, struct error *err)
{
	uint64_t began_us = clock_monotonic_us();
	int r;

	log_info("converting the decisions from format 3", LOG_END);
	r = db_exec(db, "ALTER TABLE decision ADD COLUMN vm TEXT", err);
	r = r == 0 ? db_exec(db, decisions_vm_index, err) : r;
	if (r == 0) {
		log_info("decisions converted",
			log_int("ms",
				(int64_t)(clock_monotonic_us() - began_us) /
					1000),
			LOG_END);
	}
	return r;
}

static int convert_decisions(struct sqlite3 *db, struct error *err)
{
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	/* decisions_new() makes a table that is missing. */
	if (r == 0 && has_column(db, "decision", NULL) &&
		!has_column(db, "decision", "vm")) {
		r = add_vm(db, err);
	}
	r = r == 0 ? db_exec(db, "PRAGMA user_version = 4", err) : r;
	return db_end(db, r, err);
}

/* ---- all ---- */

int migrate_run(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err)
{
	int64_t version = 0;
	int r = db_read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version == 1) {
		r = convert_reports(db, schema, stopping, err);
	}
	if (r == 0 && version <= 2) {
		r = convert_identities(db, err);
	}
	return r == 0 ? convert_decisions(db, err) : r;
}
