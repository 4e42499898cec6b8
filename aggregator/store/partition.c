#include "aggregator/store/partition.h"

#include "aggregator/store/blob_bytes.h"
#include "aggregator/store/db.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>

/* Limits of a step that deletes; a blob has 150 KB at 30 VMs a node. */
enum { STEP_BLOBS = 64, STEP_BYTES = 1 << 20 };

static const char *const names[STORE_TIERS] = { "raw", "m1", "h1" };

uint64_t partition_span_ms(enum store_tier tier)
{
	return PARTITION_HOUR_MS * 24 * (tier == STORE_1H ? 32 : 1);
}

/* "raw_20778" */
static char *name_of(enum store_tier tier, uint64_t ms)
{
	return xasprintf("%s_%" PRIu64, names[tier],
		ms / partition_span_ms(tier));
}

static bool exists(struct sqlite3 *db, const char *name)
{
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL,
		       NULL, NULL, NULL) == SQLITE_OK;
}

static int create(struct sqlite3 *db, const char *name, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"CREATE TABLE %s(id INTEGER PRIMARY KEY,"
		" node INTEGER NOT NULL, from_ms INTEGER NOT NULL,"
		" to_ms INTEGER NOT NULL, body BLOB NOT NULL);"
		"CREATE INDEX %s_at ON %s(node, from_ms);",
		name, name, name);

	return db_exec(db, sql, err);
}

static int run_once(struct sqlite3_stmt *statement, struct error *err)
{
	int r = db_run(statement, err);

	(void)sqlite3_finalize(statement);
	return r;
}

int partition_add(struct sqlite3 *db, enum store_tier tier,
	const struct partition_blob *blob, struct error *err)
{
	scoped_free char *name = name_of(tier, blob->from_ms);
	scoped_free char *sql = xasprintf(
		"INSERT INTO %s(node, from_ms, to_ms, body)"
		" VALUES (?, ?, ?, ?)",
		name);
	struct sqlite3_stmt *statement = NULL;
	int r = exists(db, name) ? 0 : create(db, name, err);

	r = r == 0 ? db_prepare(&statement, db, sql, err) : r;
	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(statement, 1, blob->node);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)blob->from_ms);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)blob->to_ms);
	(void)sqlite3_bind_blob64(statement, 4, blob->body, blob->len,
		SQLITE_STATIC);
	r = run_once(statement, err);
	return r < 0 ? r
		     : blob_bytes_add(db, blob->node, (int64_t)blob->len, err);
}

static int delete_blob(struct sqlite3 *db, const char *name, int64_t id,
	struct error *err)
{
	scoped_free char *sql = xasprintf("DELETE FROM %s WHERE id = ?", name);
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, sql, err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(statement, 1, id);
	return run_once(statement, err);
}

struct found_blob {
	int64_t id, node, bytes;
};

/* Deletes what find selects: id, node, bytes and time of at most STEP_BLOBS
 * blobs, up to the limit of a step. Finalizes find. */
static int drop_found(struct partition_dropped *out, const char *name,
	struct sqlite3_stmt *find, uint64_t most_bytes, struct error *err)
{
	struct sqlite3 *db = sqlite3_db_handle(find);
	struct found_blob found[STEP_BLOBS] = { 0 };
	int r = 0;

	most_bytes = most_bytes < STEP_BYTES ? most_bytes : STEP_BYTES;
	*out = (struct partition_dropped){ .from_ms = UINT64_MAX };
	while (out->blobs < STEP_BLOBS && out->bytes < most_bytes &&
		db_step(&r, find, err)) {
		struct found_blob *blob = &found[out->blobs++];
		uint64_t from_ms = (uint64_t)sqlite3_column_int64(find, 3);

		blob->id = sqlite3_column_int64(find, 0);
		blob->node = sqlite3_column_int64(find, 1);
		blob->bytes = sqlite3_column_int64(find, 2);
		out->bytes += (uint64_t)blob->bytes;
		out->from_ms = from_ms < out->from_ms ? from_ms : out->from_ms;
	}
	(void)sqlite3_finalize(find);
	for (size_t i = 0; r == 0 && i < out->blobs; i++) {
		r = delete_blob(db, name, found[i].id, err);
		r = r == 0 ? blob_bytes_add(db, found[i].node, -found[i].bytes,
				     err)
			   : r;
	}
	return r;
}

/* ?1 to ?3 are the node, the hour and the end of the hour. */
static void bind_hour(struct sqlite3_stmt *statement, int64_t node,
	uint64_t hour_ms)
{
	(void)sqlite3_bind_int64(statement, 1, node);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)hour_ms);
	(void)sqlite3_bind_int64(statement, 3,
		(int64_t)(hour_ms + PARTITION_HOUR_MS));
}

/* One step's worth of the blobs of a node and hour. */
static int delete_hour(struct partition_dropped *out, struct sqlite3 *db,
	const char *name, int64_t node, uint64_t hour_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"SELECT id, node, length(body), from_ms FROM %s WHERE node = ?1"
		" AND from_ms >= ?2 AND from_ms < ?3 LIMIT %d",
		name, STEP_BLOBS);
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, db, sql, err);

	if (r < 0) {
		return r;
	}
	bind_hour(find, node, hour_ms);
	return drop_found(out, name, find, STEP_BYTES, err);
}

int partition_delete(struct sqlite3 *db, enum store_tier tier, int64_t node,
	uint64_t hour_ms, struct error *err)
{
	scoped_free char *name = name_of(tier, hour_ms);
	struct partition_dropped dropped = { .blobs = exists(db, name) };
	int r = 0;

	while (r == 0 && dropped.blobs > 0) {
		r = delete_hour(&dropped, db, name, node, hour_ms, err);
	}
	return r;
}

/* False: the table of hour_ms does not exist. Statements for another table are
 * finalized. */
static bool find_table(struct partition_reader *reader, struct sqlite3 *db,
	uint64_t hour_ms)
{
	scoped_free char *name = name_of(reader->tier, hour_ms);
	uint64_t table = hour_ms / partition_span_ms(reader->tier);

	if (reader->table != table) {
		partition_reader_fini(reader);
		reader->table = table;
	}
	return exists(db, name);
}

/* Prepares a statement for the reader's table, unless it is already. */
static int prepare_reader(struct sqlite3_stmt **statement,
	const struct partition_reader *reader, struct sqlite3 *db,
	const char *columns, const char *where, struct error *err)
{
	scoped_free char *name = name_of(reader->tier,
		reader->table * partition_span_ms(reader->tier));
	scoped_free char *sql =
		xasprintf("SELECT %s FROM %s WHERE %s", columns, name, where);

	return *statement != NULL ? 0 : db_prepare(statement, db, sql, err);
}

static const char of_hour[] =
	"node = ?1 AND from_ms >= ?2 AND from_ms < ?3 ORDER BY from_ms, id";

int partition_select(struct sqlite3_stmt **out, struct partition_reader *reader,
	struct sqlite3 *db, int64_t node, uint64_t hour_ms, struct error *err)
{
	int r;

	*out = NULL;
	if (!find_table(reader, db, hour_ms)) {
		return 0;
	}
	r = prepare_reader(&reader->select, reader, db, "body", of_hour, err);
	if (r == 0) {
		*out = reader->select;
		bind_hour(*out, node, hour_ms);
	}
	return r;
}

int partition_list(struct sqlite3_stmt **out, struct partition_reader *reader,
	struct sqlite3 *db, int64_t node, uint64_t hour_ms, struct error *err)
{
	int r;

	*out = NULL;
	if (!find_table(reader, db, hour_ms)) {
		return 0;
	}
	r = prepare_reader(&reader->list, reader, db,
		"id, from_ms, to_ms, length(body)", of_hour, err);
	if (r == 0) {
		*out = reader->list;
		bind_hour(*out, node, hour_ms);
	}
	return r;
}

int partition_get(struct sqlite3_stmt **out, struct partition_reader *reader,
	struct sqlite3 *db, int64_t id, struct error *err)
{
	int r = prepare_reader(&reader->get, reader, db, "body", "id = ?", err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(reader->get, 1, id);
	if (sqlite3_step(reader->get) != SQLITE_ROW) {
		r = db_error(db, err, "cannot read");
		(void)sqlite3_reset(reader->get);
		return r;
	}
	*out = reader->get;
	return 0;
}

void partition_reader_fini(struct partition_reader *reader)
{
	(void)sqlite3_finalize(reader->select);
	(void)sqlite3_finalize(reader->list);
	(void)sqlite3_finalize(reader->get);
	reader->select = reader->list = reader->get = NULL;
}

int partition_find_span(struct partition_span *span, struct sqlite3 *db,
	enum store_tier tier, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"SELECT count(*), min(n), max(n) + 1 FROM (SELECT"
		" CAST(substr(name, %d) AS INTEGER) AS n FROM sqlite_schema"
		" WHERE type = 'table' AND name GLOB '%s_[0-9]*')",
		tier == STORE_RAW ? 5 : 4, names[tier]);
	struct sqlite3_stmt *statement = NULL;
	int r = db_prepare(&statement, db, sql, err);

	if (db_step(&r, statement, err)) {
		uint64_t ms = partition_span_ms(tier);

		span->count = (size_t)sqlite3_column_int64(statement, 0);
		span->from_ms =
			ms * (uint64_t)sqlite3_column_int64(statement, 1);
		span->end_ms =
			ms * (uint64_t)sqlite3_column_int64(statement, 2);
	}
	(void)sqlite3_finalize(statement);
	return r;
}

/* As partition_newest(), in one table. */
static int newest_in(struct sqlite3_stmt **out, struct sqlite3 *db,
	const char *table, int64_t node, uint64_t end_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"SELECT body FROM %s WHERE node = ? AND from_ms <= ?"
		" ORDER BY from_ms DESC LIMIT 1",
		table);
	int r = db_prepare(out, db, sql, err);

	if (r == 0) {
		(void)sqlite3_bind_int64(*out, 1, node);
		(void)sqlite3_bind_int64(*out, 2, (int64_t)end_ms);
		if (sqlite3_step(*out) != SQLITE_ROW) {
			(void)sqlite3_finalize(*out);
			*out = NULL;
		}
	}
	return r;
}

int partition_newest(struct sqlite3_stmt **out, struct sqlite3 *db,
	int64_t node, uint64_t end_ms, struct error *err)
{
	struct sqlite3_stmt *tables = NULL;
	int r = db_prepare(&tables, db,
		"SELECT name FROM sqlite_schema WHERE type = 'table'"
		" AND name GLOB 'raw_[0-9]*'"
		" ORDER BY CAST(substr(name, 5) AS INTEGER) DESC",
		err);

	*out = NULL;
	while (r == 0 && *out == NULL && sqlite3_step(tables) == SQLITE_ROW) {
		r = newest_in(out, db,
			(const char *)sqlite3_column_text(tables, 0), node,
			end_ms, err);
	}
	(void)sqlite3_finalize(tables);
	return r;
}

int partition_drop_some(struct partition_dropped *out, struct sqlite3 *db,
	enum store_tier tier, uint64_t from_ms, uint64_t most_bytes,
	struct error *err)
{
	scoped_free char *name = name_of(tier, from_ms);
	scoped_free char *sql = xasprintf(
		"SELECT id, node, length(body), from_ms FROM %s ORDER BY id"
		" LIMIT %d",
		name, STEP_BLOBS);
	scoped_free char *drop = xasprintf("DROP TABLE %s", name);
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, db, sql, err);

	r = r == 0 ? drop_found(out, name, find, most_bytes, err) : r;
	out->is_gone = r == 0 && out->blobs == 0;
	return out->is_gone ? db_exec(db, drop, err) : r;
}

/* The node's oldest blobs of one table. */
static int drop_of_node_in(struct partition_dropped *out, struct sqlite3 *db,
	const char *name, int64_t node, uint64_t most_bytes, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"SELECT id, node, length(body), from_ms FROM %s"
		" WHERE node = ? ORDER BY from_ms LIMIT %d",
		name, STEP_BLOBS);
	struct sqlite3_stmt *find = NULL;
	int r = db_prepare(&find, db, sql, err);

	if (r < 0) {
		return r;
	}
	(void)sqlite3_bind_int64(find, 1, node);
	return drop_found(out, name, find, most_bytes, err);
}

int partition_drop_of_node(struct partition_dropped *out, struct sqlite3 *db,
	enum store_tier tier, int64_t node, uint64_t most_bytes,
	struct error *err)
{
	struct partition_span span = { 0 };
	int r = partition_find_span(&span, db, tier, err);

	*out = (struct partition_dropped){ 0 };
	for (uint64_t at = span.from_ms;
		r == 0 && out->blobs == 0 && at < span.end_ms;
		at += partition_span_ms(tier)) {
		scoped_free char *name = name_of(tier, at);

		if (exists(db, name)) {
			r = drop_of_node_in(out, db, name, node, most_bytes,
				err);
		}
	}
	return r;
}
