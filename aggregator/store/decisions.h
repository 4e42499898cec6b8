/* The table of decision records. */
#pragma once

#include "aggregator/store/thread.h"

struct decisions;

/* Creates the table if it does not exist. kept_us: older records are
 * deleted. */
must_check int decisions_new(struct decisions **out, struct sqlite3 *db,
	uint64_t kept_us, struct error *err);
void decisions_free(struct decisions *decisions); /* NULL is fine */

/* Inserts the records of a batch and deletes up to DELETE_FACTOR times as many
 * old ones. A record that exists stays as it is. Inside the caller's
 * transaction. */
must_check int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err);

/* Runs a query; on the reader's connection. */
must_check int decisions_read(struct sqlite3 *db,
	const struct store_decisions_read *read, struct error *err);
