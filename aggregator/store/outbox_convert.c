#include "aggregator/store/outbox_convert.h"

#include "aggregator/store/db.h"
#include "lib/log.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>

static int move_row(void *owner, struct sqlite3_stmt *old, struct error *err)
{
	const struct head_report report = {
		.node = sqlite3_column_int64(old, 1),
		.sample_ms = (uint64_t)sqlite3_column_int64(old, 2),
		.stored_ms = (uint64_t)sqlite3_column_int64(old, 3),
		.body = sqlite3_column_blob(old, 4),
		.len = (size_t)sqlite3_column_bytes(old, 4),
	};

	return outbox_table_append(owner, &report, err);
}

static const struct db_old_rows old_rows = { "outbox",
	"node, sample_ms, stored_ms, body", move_row };

static int step(struct outbox_table *table, struct sqlite3 *db, int64_t *moved,
	struct error *err)
{
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? db_move_rows(moved, db, &old_rows, table, err) : r;
	if (r == 0 && *moved == 0) {
		r = db_exec(db, "DROP TABLE outbox", err);
	}
	r = db_end(db, r, err);
	outbox_table_end(table, r == 0);
	return r;
}

int outbox_convert(struct outbox_table *table, struct sqlite3 *db,
	const _Atomic bool *stopping, struct error *err)
{
	int64_t all = 0;
	int64_t moved = 1;
	int r = 0;

	if (!db_has_column(db, "outbox", NULL)) {
		return 0;
	}
	while (r == 0 && moved > 0) {
		r = atomic_load(stopping)
			? error_set(err, -ECANCELED, "shutting down")
			: step(table, db, &moved, err);
		all += r == 0 ? moved : 0;
	}
	if (r == 0) {
		log_info("queue of remote write converted",
			log_int("reports", all), LOG_END);
	}
	return r;
}
