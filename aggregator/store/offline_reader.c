#include "aggregator/store/offline_reader.h"

#include "aggregator/store/db.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/schema.h"
#include "lib/memory.h"

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
	const struct offline_reader *reader;
	struct sqlite3 *db;
	struct hour_scan *scan;
	struct node *nodes; /* owned */
	size_t count, capacity;
};

static int open_db(struct reading *reading, struct error *err)
{
	const char *path = reading->reader->path;
	int r;

	if (access(path, R_OK) != 0) {
		return error_errno(err, "cannot open");
	}
	r = store_schema_check_owner(path, err);
	r = r == 0 ? db_open_readonly(&reading->db, path, BUSY_MS, err) : r;
	r = r == 0 ? store_schema_check_format(reading->db, err) : r;
	return r < 0 ? r : hour_scan_new(&reading->scan, reading->db, err);
}

static void deliver_identity(struct reading *reading, struct sqlite3_stmt *row)
{
	const struct store_vm vm = {
		.pod_uid = (const char *)sqlite3_column_text(row, 0),
		.namespace = (const char *)sqlite3_column_text(row, 1),
		.name = (const char *)sqlite3_column_text(row, 2),
		.vmi_uid = (const char *)sqlite3_column_text(row, 3),
		.node = (const char *)sqlite3_column_text(row, 4),
	};

	reading->reader->identity(reading->reader->owner, &vm);
}

static void add_node(struct reading *reading, struct sqlite3_stmt *row)
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
	int r = db_prepare(&statement, reading->db, sql, err);

	while (db_step(&r, statement, err)) {
		row(reading, statement);
	}
	(void)sqlite3_finalize(statement);
	return r;
}

static int read_node(struct reading *reading, bool *is_done,
	const struct node *node, struct error *err)
{
	const struct offline_reader *reader = reading->reader;
	const struct store_read read = {
		.tier = STORE_1M,
		.rollup = reader->minute,
		.owner = reader->owner,
	};
	const struct rollups_source source = { reading->db, reading->scan, NULL,
		0 };
	int r = 0;

	for (uint64_t at = reader->from_ms;
		r == 0 && !*is_done && at < reader->to_ms;) {
		uint64_t end_ms = partition_hour(at) + PARTITION_HOUR_MS;
		const struct hour_scan_range range = { node->number, node->name,
			NULL, at,
			end_ms < reader->to_ms ? end_ms : reader->to_ms,
			SCHEMA_RATES };

		r = db_exec(reading->db, "BEGIN", err);
		if (r == 0) {
			r = rollups_read_all(&source, is_done, &read, &range,
				err);
		}
		db_rollback(reading->db);
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
			"SELECT pod_uid, namespace, identity.name, vmi_uid,"
			" node.name FROM identity"
			" JOIN node ON node.id = identity.node"
			" ORDER BY pod_uid",
			deliver_identity, err);
	}
	if (r == 0) {
		r = each_row(reading, "SELECT id, name FROM node ORDER BY name",
			add_node, err);
	}
	for (size_t i = 0; r == 0 && !is_done && i < reading->count; i++) {
		r = read_node(reading, &is_done, &reading->nodes[i], err);
	}
	return r;
}

int offline_reader_read(const struct offline_reader *reader, struct error *err)
{
	struct reading reading = { .reader = reader };
	int r = read_all(&reading, err);

	for (size_t i = 0; i < reading.count; i++) {
		free(reading.nodes[i].name);
	}
	free(reading.nodes);
	hour_scan_free(reading.scan);
	(void)sqlite3_close(reading.db);
	return r < 0 ? error_wrap(err, r, "cannot read '%s'", reader->path) : 0;
}
