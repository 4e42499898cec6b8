#include "aggregator/store/decisions.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdlib.h>

/* Limit of a step that deletes; a record has 2 to 10 KB. */
enum { STEP_ROWS = 200 };

/* Records that are read for an estimate. */
enum { SAMPLES = 64 };

/* A record's other columns and its entries in two indexes. */
enum { ROW_BYTES = 250 };

struct decisions {
	struct sqlite3_stmt *add;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY,"
	" namespace TEXT NOT NULL, pod TEXT NOT NULL, uid TEXT NOT NULL,"
	" wall_ms INTEGER NOT NULL, body BLOB NOT NULL,"
	" UNIQUE (namespace, pod, wall_ms, uid));"
	"CREATE INDEX IF NOT EXISTS decision_age ON decision (wall_ms)";

int decisions_new(struct decisions **out, struct sqlite3 *db, struct error *err)
{
	struct decisions *decisions = xcalloc(1, sizeof(*decisions));
	const struct db_statement all[] = {
		{ &decisions->add,
			"INSERT OR IGNORE INTO decision"
			" (namespace, pod, uid, wall_ms, body)"
			" VALUES (?, ?, ?, ?, ?)" },
	};
	int r = db_exec(db, schema, err);

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
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_entry *entry = &batch->entries[i];

		r = add(decisions,
			(const uint8_t *)batch->bodies.data + entry->offset,
			entry->len, err);
	}
	return r;
}

/* ---- deleting ---- */

int decisions_delete_old(size_t *count, struct sqlite3 *db, uint64_t before_ms,
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db,
		"DELETE FROM decision WHERE id IN (SELECT id FROM decision"
		" WHERE wall_ms < ? ORDER BY wall_ms LIMIT ?)",
		err);

	*count = 0;
	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(statement, 1, (int64_t)before_ms);
	(void)sqlite3_bind_int(statement, 2, STEP_ROWS);
	r = db_run(statement, err);
	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	(void)sqlite3_finalize(statement);
	return r;
}

int decisions_delete_first(size_t *count, uint64_t *bytes, struct sqlite3 *db,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM decision WHERE id IN (SELECT id FROM decision"
		" ORDER BY id LIMIT %d)",
		STEP_ROWS);
	scoped_free char *sum = xasprintf(
		"SELECT total(length(body) + %d) FROM (SELECT body"
		" FROM decision ORDER BY id LIMIT %d)",
		ROW_BYTES, STEP_ROWS);
	int64_t deleted = 0;
	int r = db_read_number(&deleted, db, sum, err);

	r = r == 0 ? db_exec(db, sql, err) : r;
	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	*bytes = (uint64_t)deleted;
	return r;
}

/* The mean length of records at even distances. */
static int mean_length(int64_t *mean, struct sqlite3 *db, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"WITH RECURSIVE ends(least, most) AS"
		" (SELECT min(id), max(id) FROM decision),"
		" n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < %d),"
		" ids(id) AS (SELECT DISTINCT (SELECT id FROM decision"
		" WHERE id >= least + (most - least) * i / %d"
		" ORDER BY id LIMIT 1) FROM n, ends)"
		" SELECT CAST(avg(length(body)) AS INTEGER) FROM decision"
		" WHERE id IN ids",
		SAMPLES, SAMPLES);

	return db_read_number(mean, db, sql, err);
}

int decisions_bytes(uint64_t *bytes, struct sqlite3 *db, struct error *err)
{
	int64_t count = 0, mean = 0;
	int r = db_read_number(&count, db, "SELECT count(*) FROM decision",
		err);

	r = r == 0 && count > 0 ? mean_length(&mean, db, err) : r;
	*bytes = (uint64_t)count * (uint64_t)(mean + ROW_BYTES);
	return r;
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
