/* The table of decision records. */
#pragma once

#include "aggregator/store/thread.h"

struct decisions;

/* Creates the table if it does not exist. */
must_check int decisions_new(struct decisions **out, struct sqlite3 *db,
	struct error *err);
void decisions_free(struct decisions *decisions); /* NULL is fine */

/* Inserts the records of a batch. A record that exists stays as it is. Inside
 * the caller's transaction, as the other functions that write. */
must_check int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err);

/* Deletes records of decisions that were made before this, as many as one step
 * may. *count: how many. The table must exist. */
must_check int decisions_delete_old(size_t *count, struct sqlite3 *db,
	uint64_t before_ms, struct error *err);

/* The same for those that arrived first: a scheduler whose clock is wrong must
 * not push out the others' records. *bytes: how many they had. */
must_check int decisions_delete_first(size_t *count, uint64_t *bytes,
	struct sqlite3 *db, struct error *err);

/* Estimates the bytes of all records from some of them. */
must_check int decisions_bytes(uint64_t *bytes, struct sqlite3 *db,
	struct error *err);

/* Runs a query; on the reader's connection. */
must_check int decisions_read(struct sqlite3 *db,
	const struct store_decisions_read *read, struct error *err);
