/* The table of decision records. */
#pragma once

#include "aggregator/store/record_table.h"

struct decisions;

extern const struct record_table decisions_table;

/* Creates the index of the decisions about a VM, which needs the column vm. */
extern const char decisions_vm_index[];

/* Creates the table if it does not exist. */
must_check int decisions_new(struct decisions **out, struct sqlite3 *db,
	struct error *err);
void decisions_free(struct decisions *decisions); /* NULL is fine */

/* Inserts the records of a batch. A record that exists stays as it is. Inside
 * the caller's transaction. */
must_check int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err);

/* Runs a query; on the reader's connection. */
must_check int decisions_read(struct sqlite3 *db,
	const struct store_decisions_read *read, struct error *err);
