#include "aggregator/store/record_table.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"

#include <sqlite3.h>

/* Limit of a step that deletes; a record has 1 to 10 KB. */
enum { STEP_ROWS = 200 };

/* Records that are read for an estimate. */
enum { SAMPLES = 64 };

int record_table_write(const struct store_batch *batch,
	int (*add)(void *owner, const uint8_t *body, size_t len,
		struct error *err),
	void *owner, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct batch_entry *entry = &batch->entries[i];

		r = add(owner,
			(const uint8_t *)batch->bodies.data + entry->offset,
			entry->len, err);
	}
	return r;
}

int record_table_delete_old(size_t *count, struct sqlite3 *db,
	const struct record_table *table, uint64_t before_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM %s WHERE id IN (SELECT id FROM %s"
		" WHERE %s < %llu ORDER BY %s LIMIT %d)",
		table->name, table->name, table->time_column,
		(unsigned long long)before_ms, table->time_column, STEP_ROWS);
	int r = db_exec(db, sql, err);

	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	return r;
}

int record_table_delete_first(size_t *count, uint64_t *bytes,
	struct sqlite3 *db, const struct record_table *table, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM %s WHERE id IN (SELECT id FROM %s"
		" ORDER BY id LIMIT %d)",
		table->name, table->name, STEP_ROWS);
	scoped_free char *sum = xasprintf(
		"SELECT total(length(body) + %zu) FROM (SELECT body"
		" FROM %s ORDER BY id LIMIT %d)",
		table->row_bytes, table->name, STEP_ROWS);
	int64_t deleted = 0;
	int r = db_read_number(&deleted, db, sum, err);

	r = r == 0 ? db_exec(db, sql, err) : r;
	*count = r == 0 ? (size_t)sqlite3_changes(db) : 0;
	*bytes = (uint64_t)deleted;
	return r;
}

/* The mean length of records at even distances. */
static int mean_length(int64_t *mean, struct sqlite3 *db, const char *name,
	struct error *err)
{
	scoped_free char *sql = xasprintf(
		"WITH RECURSIVE ends(least, most) AS"
		" (SELECT min(id), max(id) FROM %s),"
		" n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < %d),"
		" ids(id) AS (SELECT DISTINCT (SELECT id FROM %s"
		" WHERE id >= least + (most - least) * i / %d"
		" ORDER BY id LIMIT 1) FROM n, ends)"
		" SELECT CAST(avg(length(body)) AS INTEGER) FROM %s"
		" WHERE id IN ids",
		name, SAMPLES, name, SAMPLES, name);

	return db_read_number(mean, db, sql, err);
}

int record_table_bytes(uint64_t *bytes, struct sqlite3 *db,
	const struct record_table *table, struct error *err)
{
	scoped_free char *sql =
		xasprintf("SELECT count(*) FROM %s", table->name);
	int64_t count = 0, mean = 0;
	int r = db_read_number(&count, db, sql, err);

	r = r == 0 && count > 0 ? mean_length(&mean, db, table->name, err) : r;
	*bytes = (uint64_t)count * ((uint64_t)mean + table->row_bytes);
	return r;
}
