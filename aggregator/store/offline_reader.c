#include "aggregator/store/offline_reader.h"

#include "aggregator/store/partition.h"
#include "aggregator/store/rollups.h"
#include "lib/memory.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

/* The aggregator may hold a lock for a moment. */
enum { BUSY_MS = 10000 };

struct node {
	int64_t number;
	char *name; /* owned */
};

struct reading {
	const struct store_past *past;
	struct sqlite3 *db;
	struct scan *scan;
	struct node *nodes; /* owned */
	size_t count, capacity;
};

static int open_db(struct reading *reading, struct error *err)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
	const char *path = reading->past->path;
	int r;

	if (access(path, R_OK) != 0) {
		return error_errno(err, "cannot read it");
	}
	r = store_db_check_owner(path, err);
	if (r == 0 &&
		sqlite3_open_v2(path, &reading->db, flags, NULL) != SQLITE_OK) {
		r = store_db_error(reading->db, err, "cannot open it");
	}
	if (r == 0) {
		(void)sqlite3_busy_timeout(reading->db, BUSY_MS);
		r = store_db_check_format(reading->db, err);
	}
	return r < 0 ? r : scan_new(&reading->scan, reading->db, err);
}

static void give_identity(struct reading *reading, struct sqlite3_stmt *row)
{
	const struct store_vm vm = {
		.pod_uid = (const char *)sqlite3_column_text(row, 0),
		.namespace = (const char *)sqlite3_column_text(row, 1),
		.name = (const char *)sqlite3_column_text(row, 2),
		.vmi_uid = (const char *)sqlite3_column_text(row, 3),
		.node = "",
	};

	reading->past->identity(reading->past->owner, &vm);
}

static void take_node(struct reading *reading, struct sqlite3_stmt *row)
{
	reading->nodes = xgrow(reading->nodes, reading->count,
		&reading->capacity, sizeof(*reading->nodes));
	reading->nodes[reading->count++] = (struct node){
		.number = sqlite3_column_int64(row, 0),
		.name = xstrdup((const char *)sqlite3_column_text(row, 1)),
	};
}

static int each_row(struct reading *reading, const char *sql,
	void (*row)(struct reading *reading, struct sqlite3_stmt *row),
	struct error *err)
{
	struct sqlite3_stmt *statement = NULL;
	int step = SQLITE_DONE;
	int r = store_db_prepare(&statement, reading->db, sql, err);

	while (r == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		row(reading, statement);
	}
	if (r == 0 && step != SQLITE_DONE) {
		r = store_db_error(reading->db, err, "cannot read it");
	}
	(void)sqlite3_finalize(statement);
	return r;
}

static int read_node(struct reading *reading, bool *is_done,
	const struct node *node, struct error *err)
{
	const struct store_past *past = reading->past;
	const struct store_read read = {
		.tier = STORE_1M,
		.rollup = past->minute,
		.owner = past->owner,
	};
	int r = 0;

	for (uint64_t at = past->from_ms;
		r == 0 && !*is_done && at < past->to_ms;) {
		uint64_t end_ms = (at / STORE_HOUR_MS + 1) * STORE_HOUR_MS;
		const struct scan_range range = { node->number, node->name,
			NULL, at, end_ms < past->to_ms ? end_ms : past->to_ms,
			FIELDS_RATES };

		r = store_db_exec(reading->db, "BEGIN", err);
		if (r == 0) {
			r = store_read_all_rollups(reading->scan, reading->db,
				is_done, &read, &range, err);
		}
		store_db_rollback(reading->db);
		at = end_ms;
	}
	return r;
}

static int read_all(struct reading *reading, struct error *err)
{
	bool is_done = false;
	int r = open_db(reading, err);

	if (r == 0) {
		r = each_row(reading,
			"SELECT pod_uid, namespace, name, vmi_uid"
			" FROM identity ORDER BY pod_uid",
			give_identity, err);
	}
	if (r == 0) {
		r = each_row(reading, "SELECT id, name FROM node ORDER BY name",
			take_node, err);
	}
	for (size_t i = 0; r == 0 && !is_done && i < reading->count; i++) {
		r = read_node(reading, &is_done, &reading->nodes[i], err);
	}
	return r;
}

int store_past_read(const struct store_past *past, struct error *err)
{
	struct reading reading = { .past = past };
	int r = read_all(&reading, err);

	for (size_t i = 0; i < reading.count; i++) {
		free(reading.nodes[i].name);
	}
	free(reading.nodes);
	scan_free(reading.scan);
	(void)sqlite3_close(reading.db);
	return r < 0 ? error_wrap(err, r, "cannot read '%s'", past->path) : 0;
}
