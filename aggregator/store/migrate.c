#include "aggregator/store/thread.h"

#include "aggregator/store/head.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>

/* One transaction: a fsync, which may take a second, for each. */
enum { STEP_ROWS = 5000 };

/* The old table keeps its name until it is empty; the new ones are there from
 * the first step on. */
static int begin(struct sqlite3 *db, const char *schema, struct error *err)
{
	int r = 0;

	if (sqlite3_table_column_metadata(db, "main", "tail", NULL, NULL, NULL,
		    NULL, NULL, NULL) != SQLITE_OK) {
		r = store_db_exec(db, schema, err);
	}
	/* Not before all is done. */
	return r < 0 ? r : store_db_exec(db, "PRAGMA user_version = 1", err);
}

static int move_some(struct sqlite3 *db, struct tail *tail, int *moved,
	struct error *err)
{
	struct sqlite3_stmt *old = NULL;
	int r = store_db_prepare(&old, db,
		"SELECT node, run_id, seq, sample_ms, body, id FROM report"
		" ORDER BY id LIMIT ?",
		err);
	int64_t last = 0;
	int step = SQLITE_DONE;

	*moved = 0;
	(void)sqlite3_bind_int(old, 1, STEP_ROWS);
	while (r == 0 && (step = sqlite3_step(old)) == SQLITE_ROW) {
		const struct tail_report report = {
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
			r = tail_add(tail, &report, err);
		}
	}
	if (r == 0 && step != SQLITE_DONE) {
		r = store_db_error(db, err, "cannot read");
	}
	(void)sqlite3_finalize(old);
	if (r == 0) {
		scoped_free char *sql = xasprintf(
			"DELETE FROM report WHERE id <= %lld", (long long)last);

		r = store_db_exec(db, sql, err);
	}
	return r;
}

static int step(struct sqlite3 *db, const char *schema, int *moved,
	struct error *err)
{
	struct tail *tail = NULL;
	int r = store_db_exec(db, "BEGIN IMMEDIATE", err);

	if (r == 0) {
		r = begin(db, schema, err);
	}
	if (r == 0) {
		r = tail_new(&tail, db, err);
	}
	if (r == 0) {
		r = move_some(db, tail, moved, err);
	}
	tail_free(tail);
	if (r == 0 && *moved == 0) {
		r = store_db_exec(db,
			"DROP TABLE report; PRAGMA user_version = 2", err);
	}
	if (r == 0) {
		r = store_db_exec(db, "COMMIT", err);
	}
	if (r < 0) {
		store_db_rollback(db);
	}
	return r;
}

int store_migrate(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err)
{
	int64_t all = 0;
	int moved = 1;
	int r = 0;

	log_info("the database is of format 1 and is converted", LOG_END);
	while (r == 0 && moved > 0) {
		r = atomic_load(stopping)
			? error_set(err, -ECANCELED, "shutting down")
			: step(db, schema, &moved, err);
		all += moved;
	}
	if (r == 0) {
		log_info("the database is converted", log_int("reports", all),
			LOG_END);
	}
	return r;
}
