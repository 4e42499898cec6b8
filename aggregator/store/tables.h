/* The open database and its tables, as the writer uses them. */
#pragma once

#include "aggregator/store/last_reports.h"
#include "lib/error.h"

struct db_file;
struct sqlite3;
struct store;

struct tables {
	struct sqlite3 *db;
	struct pod_nodes *pod_nodes;
	struct head *head;
	struct outbox_table *outbox;
	struct maintenance *maintenance;
	struct decisions *decisions;
	struct move_table *moves;
};

/* Checks and opens the database of the store, converts an older one, and reads
 * the last report of each node. tables_close() is needed also after an error.
 * Errors as db_file_check() and store/db.h. */
must_check int tables_open(struct tables *tables, const struct db_file *file,
	const struct store *store, struct last_reports *last_reports,
	struct error *err);

/* Leaves it zeroed. */
void tables_close(struct tables *tables);
