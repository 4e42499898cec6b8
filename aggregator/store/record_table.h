/* Common parts of the tables of records, decisions and move_table. */
#pragma once

#include "aggregator/store/thread.h"

struct record_table {
	/* A table with the columns id, which rises with each new record, and
	 * body, the packed record. */
	const char *name;
	const char *time_column; /* by which old records are deleted */
	size_t row_bytes;	 /* of other columns and of the indexes */
};

/* Adds each record of the batch. Inside the caller's transaction, as the other
 * functions that write. */
must_check int record_table_write(const struct store_batch *batch,
	int (*add)(void *owner, const uint8_t *body, size_t len,
		struct error *err),
	void *owner, struct error *err);

/* Deletes records whose time is before this, as many as one step may. *count:
 * how many. The table must exist. */
must_check int record_table_delete_old(size_t *count, struct sqlite3 *db,
	const struct record_table *table, uint64_t before_ms,
	struct error *err);

/* The same for those that arrived first: a scheduler whose clock is wrong must
 * not push out the others' records. *bytes: how many they had. */
must_check int record_table_delete_first(size_t *count, uint64_t *bytes,
	struct sqlite3 *db, const struct record_table *table,
	struct error *err);

/* Estimates the bytes of all records from some of them. */
must_check int record_table_bytes(uint64_t *bytes, struct sqlite3 *db,
	const struct record_table *table, struct error *err);
