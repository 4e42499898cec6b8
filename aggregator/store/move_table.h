/* The table of moves: one row for each id, with its highest revision. */
#pragma once

#include "aggregator/store/record_table.h"

struct move_table;

extern const struct record_table move_table_records;

/* Creates the table if it does not exist. */
must_check int move_table_new(struct move_table **out, struct sqlite3 *db,
	struct error *err);
void move_table_free(struct move_table *table); /* NULL is fine */

/* Inserts the moves of a batch, or replaces their older revisions. Inside the
 * caller's transaction. */
must_check int move_table_write(struct move_table *table,
	const struct store_batch *batch, struct error *err);

/* Runs a query; on the reader's connection. */
must_check int move_table_read(struct sqlite3 *db,
	const struct store_moves_read *read, struct error *err);
