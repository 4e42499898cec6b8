/* The table of decision records. On the store's own threads; only store*.c
 * include this. */
#pragma once

#include "aggregator/store/thread.h"

struct decisions;

/* Creates the table where there is none. kept_us: older records are deleted.
 * -errno by what SQLite says. */
must_check int decisions_new(struct decisions **out, struct sqlite3 *db,
	uint64_t kept_us, struct error *err);
void decisions_free(struct decisions *decisions); /* NULL is fine */

/* Inside a transaction: inserts the records of one batch and deletes a few
 * times as many that are too old, so the table stays bounded while it grows.
 * A record that is there already stays as it is. */
must_check int decisions_write(struct decisions *decisions,
	const struct store_batch *batch, struct error *err);

/* Gives the records that are asked for, newest first. */
must_check int decisions_read(struct sqlite3 *db,
	const struct store_decisions_read *read, struct error *err);
