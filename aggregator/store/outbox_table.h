/* The table behind store/outbox.h. */
#pragma once

#include "aggregator/store/head.h"
#include "aggregator/store/outbox.h"

struct outbox_table;

/* Creates the table if it does not exist. With bytes_max 0 no reports are
 * queued, and those of an earlier process stay. */
must_check int outbox_table_new(struct outbox_table **out, struct sqlite3 *db,
	uint64_t bytes_max, struct error *err);
void outbox_table_free(struct outbox_table *table); /* NULL is fine */

/* Queues a report and deletes the oldest ones above the limit. Inside the
 * caller's transaction. run_id and seq of the report are not used. */
must_check int outbox_table_add(struct outbox_table *table,
	const struct head_report *report, struct error *err);

/* Appends a report, whatever the limit is. Inside the caller's transaction. */
must_check int outbox_table_append(struct outbox_table *table,
	const struct head_report *report, struct error *err);

/* Deletes reports of the id's shard up to this id. Inside the caller's
 * transaction. */
must_check int outbox_table_delete(struct outbox_table *table, uint64_t id,
	struct error *err);

/* Between a savepoint and the rollback to it. */
void outbox_table_begin_batch(struct outbox_table *table);
void outbox_table_undo_batch(struct outbox_table *table);

/* Deletes reports that an earlier process left, as many as one step may,
 * inside the caller's transaction. *count: how many. Only for tables that were
 * made with bytes_max 0, and the table must exist. */
must_check int outbox_table_delete_left(size_t *count, struct sqlite3 *db,
	struct error *err);

/* The transaction has ended. */
void outbox_table_end(struct outbox_table *table, bool is_committed);

struct outbox_counts outbox_table_counts(const struct outbox_table *table);

/* Runs a query; on the reader's connection. */
must_check int outbox_table_read(struct sqlite3 *db,
	const struct outbox_read *read, struct error *err);
