#include "aggregator/store/decisions.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>

const struct record_table decisions_table = {
	.name = "decision",
	.time_column = "wall_ms",
	.row_bytes = 300,
};

struct decisions {
	struct sqlite3_stmt *add;
};

const char decisions_vm_index[] =
	"CREATE INDEX IF NOT EXISTS decision_vm ON decision"
	" (namespace, vm, wall_ms) WHERE vm IS NOT NULL";

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY,"
	" namespace TEXT NOT NULL, pod TEXT NOT NULL, uid TEXT NOT NULL,"
	" wall_ms INTEGER NOT NULL, body BLOB NOT NULL,"
	" vm TEXT, UNIQUE (namespace, pod, wall_ms, uid));"
	"CREATE INDEX IF NOT EXISTS decision_age ON decision (wall_ms);"
	"CREATE INDEX IF NOT EXISTS decision_namespace ON decision"
	" (namespace, wall_ms)";

int decisions_new(struct decisions **out, struct sqlite3 *db, struct error *err)
{
	struct decisions *decisions = xcalloc(1, sizeof(*decisions));
	const struct db_statement all[] = {
		{ &decisions->add,
			"INSERT OR IGNORE INTO decision"
			" (namespace, pod, uid, wall_ms, body, vm)"
			" VALUES (?, ?, ?, ?, ?, nullif(?, ''))" },
	};
	int r = db_exec(db, schema, err);

	r = r == 0 ? db_exec(db, decisions_vm_index, err) : r;
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
		free(decisions);
	}
}

static int add(void *owner, const uint8_t *body, size_t len, struct error *err)
{
	struct decisions *decisions = owner;
	scoped_free struct decision_record *record =
		xcalloc(1, sizeof(*record));
	struct sqlite3_stmt *statement = decisions->add;
	int r = wire_unpack_decision(record, body, len, err);

	if (r < 0) {
		return r;
	}
	db_bind_text(statement, 1, record->namespace);
	db_bind_text(statement, 2, record->pod);
	db_bind_text(statement, 3, record->uid);
	(void)sqlite3_bind_int64(statement, 4,
		(int64_t)(record->wall_us / 1000));
	(void)sqlite3_bind_blob(statement, 5, body, (int)len, SQLITE_STATIC);
	db_bind_text(statement, 6, record->vm);
	return db_run(statement, err);
}

int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err)
{
	return record_table_write(batch, add, decisions, err);
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
	if (read->row != NULL) {
		*read->row = (uint64_t)sqlite3_column_int64(statement, 1);
	}
	return read->record(read->owner, record);
}

#define PLACE " AND (?8 = 0 OR (wall_ms, id) < (?7, ?8))"
#define NEWEST_FIRST " ORDER BY wall_ms DESC, id DESC LIMIT ?5"

static const char *query_of(const struct store_decisions_read *read)
{
	static const char of_pod[] =
		"SELECT body, id FROM decision WHERE namespace = ?1"
		" AND pod = ?2 AND wall_ms >= ?3 AND wall_ms < ?4"
		" AND (?6 = '' OR vm = ?6)" PLACE NEWEST_FIRST;
	static const char of_vm[] =
		"SELECT body, id FROM decision WHERE namespace = ?1 AND vm = ?6"
		" AND wall_ms >= ?3 AND wall_ms < ?4" PLACE NEWEST_FIRST;
	static const char of_namespace[] =
		"SELECT body, id FROM decision WHERE namespace = ?1"
		" AND wall_ms >= ?3 AND wall_ms < ?4" PLACE NEWEST_FIRST;
	static const char of_all[] =
		"SELECT body, id FROM decision WHERE wall_ms >= ?3"
		" AND wall_ms < ?4" PLACE NEWEST_FIRST;

	return read->pod[0] != '\0'	     ? of_pod
		: read->vm[0] != '\0'	     ? of_vm
		: read->namespace[0] != '\0' ? of_namespace
					     : of_all;
}

/* The exclusive end: a list that goes on begins in the last one's
 * millisecond. */
static uint64_t end_of(const struct store_decisions_read *read)
{
	return read->before_row != 0 && read->before_ms < read->to_ms
		? read->before_ms + 1
		: read->to_ms;
}

int decisions_read(struct sqlite3 *db, const struct store_decisions_read *read,
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, query_of(read), err);

	if (r < 0) {
		return r;
	}
	db_bind_text(statement, 1, read->namespace);
	db_bind_text(statement, 2, read->pod);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)read->from_ms);
	(void)sqlite3_bind_int64(statement, 4, (int64_t)end_of(read));
	(void)sqlite3_bind_int64(statement, 5, (int64_t)read->limit);
	db_bind_text(statement, 6, read->vm);
	(void)sqlite3_bind_int64(statement, 7, (int64_t)read->before_ms);
	(void)sqlite3_bind_int64(statement, 8, (int64_t)read->before_row);
	while (db_step(&r, statement, err) && deliver(statement, read)) {
	}
	(void)sqlite3_finalize(statement);
	return r;
}
