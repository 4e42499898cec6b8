#include "aggregator/store/db.h"
#include "aggregator/store/thread.h"
#include "lib/log.h"

#include <errno.h>
#include <sqlite3.h>

/* Steps of SQLite's virtual machine between two checks of the flag. */
enum { STEPS = 100000 };

static int wants_stop(void *argument)
{
	const struct store *store = argument;

	return atomic_load(&store->stopping) ? 1 : 0;
}

/* -EBADMSG: damaged; err says how. */
static int check(struct sqlite3 *db, struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, "PRAGMA quick_check(1)", err);

	if (r == 0 && sqlite3_step(statement) == SQLITE_ROW) {
		const char *text =
			(const char *)sqlite3_column_text(statement, 0);

		if (text == NULL || sqlite3_stricmp(text, "ok") != 0) {
			r = error_set(err, -EBADMSG, "%s",
				text == NULL ? "no answer" : text);
		}
	} else if (r == 0) {
		r = db_error(db, err, "cannot check the database");
	}
	(void)sqlite3_finalize(statement);
	return r;
}

void checker_run(void *argument)
{
	struct store *store = argument;
	struct sqlite3 *db = NULL;
	struct error error = { 0 };
	int r;

	log_info("database was not closed cleanly, checking it",
		log_str("database", store->path), LOG_END);
	r = db_open(&db, store->path, &error);
	if (r == 0) {
		sqlite3_progress_handler(db, STEPS, wants_stop, store);
		r = check(db, &error);
	}
	(void)sqlite3_close(db);
	if (r == -EBADMSG) {
		atomic_store(&store->is_damaged, true);
		log_error("database check found damage",
			log_str("database", store->path), log_err(&error),
			LOG_END);
	} else if (r < 0 && !atomic_load(&store->stopping)) {
		log_warning("database check failed",
			log_str("database", store->path), log_err(&error),
			LOG_END);
	} else if (r == 0) {
		log_info("database check passed",
			log_str("database", store->path), LOG_END);
	}
	inbox_push(store->inbox, &store->checker_end.inbox);
}
