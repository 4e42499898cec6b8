#include "aggregator/store/decisions.h"

#include "aggregator/store/db.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>

/* Old records that one new record may delete: each batch stays short, and the
 * table shrinks while it is written. */
enum { DELETE_FACTOR = 4 };

struct decisions {
	struct sqlite3_stmt *add, *delete_old;
	uint64_t kept_us;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY,"
	" namespace TEXT NOT NULL, pod TEXT NOT NULL, uid TEXT NOT NULL,"
	" wall_ms INTEGER NOT NULL, body BLOB NOT NULL,"
	" UNIQUE (namespace, pod, wall_ms, uid));"
	"CREATE INDEX IF NOT EXISTS decision_age ON decision (wall_ms)";

int decisions_new(struct decisions **out, struct sqlite3 *db, uint64_t kept_us,
	struct error *err)
{
	struct decisions *decisions = xcalloc(1, sizeof(*decisions));
	const struct db_statement all[] = {
		{ &decisions->add,
			"INSERT OR IGNORE INTO decision"
			" (namespace, pod, uid, wall_ms, body)"
			" VALUES (?, ?, ?, ?, ?)" },
		{ &decisions->delete_old,
			"DELETE FROM decision WHERE id IN (SELECT id"
			" FROM decision WHERE wall_ms < ?"
			" ORDER BY wall_ms LIMIT ?)" },
	};
	int r = db_exec(db, schema, err);

	decisions->kept_us = kept_us;
	r = r == 0 ? db_prepare_all(db, all, count_of(all), err) : r;
	if (r < 0) {
		decisions_free(decisions);
		return r;
	}
	*out = decisions;
	return 0;
}

void decisions_free(struct decisions *decisions)
{
	if (decisions != NULL) {
		(void)sqlite3_finalize(decisions->add);
		(void)sqlite3_finalize(decisions->delete_old);
		free(decisions);
	}
}

static int add(struct decisions *decisions, const uint8_t *body, size_t len,
	struct error *err)
{
	scoped_free struct decision_record *record =
		xcalloc(1, sizeof(*record));
	struct sqlite3_stmt *statement = decisions->add;
	int r = wire_unpack_decision(record, body, len, err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_text(statement, 1, record->namespace, -1,
		SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 2, record->pod, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 3, record->uid, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 4,
		(int64_t)(record->wall_us / 1000));
	(void)sqlite3_bind_blob(statement, 5, body, (int)len, SQLITE_STATIC);
	return db_run(statement, err);
}

int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err)
{
	uint64_t now_us = clock_wall_us();
	uint64_t oldest_us =
		now_us > decisions->kept_us ? now_us - decisions->kept_us : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_entry *entry = &batch->entries[i];

		r = add(decisions,
			(const uint8_t *)batch->bodies.data + entry->offset,
			entry->len, err);
	}
	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(decisions->delete_old, 1,
		(int64_t)(oldest_us / 1000));
	(void)sqlite3_bind_int64(decisions->delete_old, 2,
		(int64_t)batch->count * DELETE_FACTOR);
	return db_run(decisions->delete_old, err);
}

/* ---- reading ---- */

/* False: the query ends here. */
static bool deliver(struct sqlite3_stmt *statement,
	const struct store_decisions_read *read)
{
	scoped_free struct decision_record *record =
		xcalloc(1, sizeof(*record));

	if (wire_unpack_decision(record, sqlite3_column_blob(statement, 0),
		    (size_t)sqlite3_column_bytes(statement, 0), NULL) < 0) {
		return true; /* a record that cannot be read is left out */
	}
	return read->record(read->owner, record);
}

int decisions_read(struct sqlite3 *db, const struct store_decisions_read *read,
	struct error *err)
{
	static const char of_pod[] =
		"SELECT body FROM decision WHERE namespace = ?1 AND pod = ?2"
		" AND wall_ms >= ?3 AND wall_ms < ?4"
		" ORDER BY wall_ms DESC, uid LIMIT ?5";
	static const char of_all[] =
		"SELECT body FROM decision WHERE wall_ms >= ?3 AND wall_ms < ?4"
		" ORDER BY wall_ms DESC, id DESC LIMIT ?5";
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db,
		read->pod[0] == '\0' ? of_all : of_pod, err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_text(statement, 1, read->namespace, -1,
		SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 2, read->pod, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)read->from_ms);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)read->to_ms);
	(void)sqlite3_bind_int64(statement, 5, (int64_t)read->limit);
	while (db_step(&r, statement, err) && deliver(statement, read)) {
	}
	(void)sqlite3_finalize(statement);
	return r;
}
