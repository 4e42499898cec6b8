#include "aggregator/store/tables.h"

#include "aggregator/store/db.h"
#include "aggregator/store/db_file.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "aggregator/store/maintenance.h"
#include "aggregator/store/move_table.h"
#include "aggregator/store/outbox_convert.h"
#include "aggregator/store/pod_nodes.h"
#include "aggregator/store/schema.h"
#include "aggregator/store/thread.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <sqlite3.h>

/* 8 MB, taken as needed. Pods come and go anywhere in the tables of identities
 * and places; with 150,000 pods and SQLite's 2 MB for these and the head, the
 * writer read many pages again for each commit. */
static const char cache_size[] = "PRAGMA cache_size = -8192";

static int open_db(struct tables *tables, const struct db_file *file,
	const struct store *store, struct error *err)
{
	int r = db_file_check(file, err);

	r = r == 0 ? store_schema_check_owner(store->path, err) : r;
	r = r == 0 ? db_open(&tables->db, store->path, err) : r;
	r = r == 0 ? db_exec(tables->db, cache_size, err) : r;
	return r < 0 ? r
		     : store_schema_prepare(tables->db, &store->stopping, err);
}

int tables_open(struct tables *tables, const struct db_file *file,
	const struct store *store, struct last_reports *last_reports,
	struct error *err)
{
	int r = open_db(tables, file, store, err);
	struct sqlite3 *db = tables->db;

	r = r == 0 ? pod_nodes_new(&tables->pod_nodes, db, err) : r;
	r = r == 0 ? head_new(&tables->head, db, err) : r;
	if (r == 0) {
		r = outbox_table_new(&tables->outbox, db,
			store->options.outbox_bytes, err);
	}
	if (r == 0) {
		r = outbox_convert(tables->outbox, db, &store->stopping, err);
	}
	if (r == 0) {
		r = maintenance_new(&tables->maintenance, db, &store->options,
			err);
	}
	r = r == 0 ? decisions_new(&tables->decisions, db, err) : r;
	r = r == 0 ? move_table_new(&tables->moves, db, err) : r;
	return r < 0 ? r
		     : last_reports_read(last_reports, db,
			       clock_wall_us() / 1000, err);
}

void tables_close(struct tables *tables)
{
	pod_nodes_free(tables->pod_nodes);
	head_free(tables->head);
	outbox_table_free(tables->outbox);
	maintenance_free(tables->maintenance);
	decisions_free(tables->decisions);
	move_table_free(tables->moves);
	(void)sqlite3_close(tables->db);
	*tables = (struct tables){ 0 };
}
