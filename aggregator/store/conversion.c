#include "aggregator/store/conversion.h"

#include "aggregator/store/db.h"
#include "aggregator/store/decisions.h"
#include "aggregator/store/head.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "proto/report.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>

static int create_head(struct sqlite3 *db, struct error *err)
{
	return db_exec(db, "CREATE TABLE IF NOT EXISTS head" HEAD_COLUMNS, err);
}

/* The old table keeps its name until it is empty. The first step creates the
 * new tables, unless an earlier version began the conversion. */
static int begin(struct sqlite3 *db, const char *schema, struct error *err)
{
	int r = db_has_column(db, "run", NULL) ? create_head(db, err)
					       : db_exec(db, schema, err);

	/* Format 1 until the last step is done. */
	return r < 0 ? r : db_exec(db, "PRAGMA user_version = 1", err);
}

static int move_report(void *owner, struct sqlite3_stmt *old, struct error *err)
{
	const struct head_report report = {
		.node = sqlite3_column_int64(old, 1),
		.run_id = sqlite3_column_blob(old, 2),
		.seq = (uint64_t)sqlite3_column_int64(old, 3),
		.sample_ms = (uint64_t)sqlite3_column_int64(old, 4),
		.stored_ms = clock_wall_us() / 1000,
		.body = sqlite3_column_blob(old, 5),
		.len = (size_t)sqlite3_column_bytes(old, 5),
	};
	int r = 0;

	if (sqlite3_column_bytes(old, 2) == REPORT_RUN_ID_BYTES) {
		r = head_add(owner, &report, err);
	}
	return r < 0 ? r : 0;
}

/* How a table of reports becomes the head, some rows at a time. */
struct conversion {
	int from; /* the format */
	int (*begin)(struct sqlite3 *db, const char *schema, struct error *err);
	struct db_old_rows old; /* the owner is the head */
	const char *end;	/* when the table is empty */
};

static int step(const struct conversion *conversion, struct sqlite3 *db,
	const char *schema, int64_t *moved, struct error *err)
{
	struct head *head = NULL;
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	r = r == 0 ? conversion->begin(db, schema, err) : r;
	r = r == 0 ? head_new(&head, db, err) : r;
	r = r == 0 ? db_move_rows(moved, db, &conversion->old, head, err) : r;
	head_free(head);
	if (r == 0 && *moved == 0) {
		r = db_exec(db, conversion->end, err);
	}
	return db_end(db, r, err);
}

static int convert_rows(const struct conversion *conversion, struct sqlite3 *db,
	const char *schema, const _Atomic bool *stopping, struct error *err)
{
	int64_t all = 0;
	int64_t moved = 1;
	int r = 0;

	log_info("converting the reports of an earlier format",
		log_int("format", conversion->from), LOG_END);
	while (r == 0 && moved > 0) {
		r = atomic_load(stopping)
			? error_set(err, -ECANCELED, "shutting down")
			: step(conversion, db, schema, &moved, err);
		all += moved;
	}
	if (r == 0) {
		log_info("reports converted", log_int("reports", all), LOG_END);
	}
	return r;
}

static const struct conversion reports_of_1 = { 1, begin,
	{ "report", "node, run_id, seq, sample_ms, body", move_report },
	"DROP TABLE report; PRAGMA user_version = 2" };

/* ---- format 2 ---- */

static int convert_identities(struct sqlite3 *db, struct error *err)
{
	static const char convert[] =
		"CREATE TABLE identity_3(pod_uid TEXT PRIMARY KEY, namespace"
		" TEXT NOT NULL, name TEXT NOT NULL, vmi_uid TEXT NOT NULL,"
		" seen_ms INTEGER NOT NULL, node INTEGER NOT NULL)"
		" WITHOUT ROWID;"
		"INSERT INTO identity_3 SELECT pod_uid, namespace, name,"
		" vmi_uid, seen_ms, coalesce((SELECT node FROM place"
		" WHERE place.pod_uid = identity.pod_uid"
		" ORDER BY first_ms, node LIMIT 1), 0) FROM identity;"
		"DROP TABLE identity;"
		"ALTER TABLE identity_3 RENAME TO identity;"
		"CREATE INDEX identity_name ON identity(namespace, name);";
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	/* A conversion from format 1 may have made the new table. */
	if (r == 0 && !db_has_column(db, "identity", "node")) {
		r = db_exec(db, convert, err);
	}
	r = r == 0 ? db_exec(db, "PRAGMA user_version = 3", err) : r;
	return db_end(db, r, err);
}

/* ---- format 3 ---- */

/* The index reads the whole table once. */
static int add_vm(struct sqlite3 *db, struct error *err)
{
	uint64_t began_us = clock_monotonic_us();
	int r;

	log_info("converting the decisions from format 3", LOG_END);
	r = db_exec(db, "ALTER TABLE decision ADD COLUMN vm TEXT", err);
	r = r == 0 ? db_exec(db, decisions_vm_index, err) : r;
	if (r == 0) {
		log_info("decisions converted",
			log_int("ms",
				(int64_t)(clock_monotonic_us() - began_us) /
					1000),
			LOG_END);
	}
	return r;
}

static int convert_decisions(struct sqlite3 *db, struct error *err)
{
	int r = db_exec(db, "BEGIN IMMEDIATE", err);

	/* decisions_new() makes a table that is missing. */
	if (r == 0 && db_has_column(db, "decision", NULL) &&
		!db_has_column(db, "decision", "vm")) {
		r = add_vm(db, err);
	}
	r = r == 0 ? db_exec(db, "PRAGMA user_version = 4", err) : r;
	return db_end(db, r, err);
}

/* ---- format 5 ---- */

/* Until format 5, the head was called tail and had slots of 131 s. */
enum { TAIL_NODE_SHIFT = 18 };

static int begin_head(struct sqlite3 *db, const char *schema, struct error *err)
{
	(void)schema;
	return create_head(db, err);
}

/* The row's run and seq are marked already. */
static int move_row(void *owner, struct sqlite3_stmt *old, struct error *err)
{
	int64_t node = sqlite3_column_int64(old, 0) >> TAIL_NODE_SHIFT &
		((INT64_C(1) << HEAD_NODE_BITS) - 1);
	const struct head_report report = {
		.node = node,
		.seq = (uint64_t)sqlite3_column_int64(old, 2),
		.sample_ms = (uint64_t)sqlite3_column_int64(old, 3),
		.stored_ms = (uint64_t)sqlite3_column_int64(old, 4),
		.body = sqlite3_column_blob(old, 5),
		.len = (size_t)sqlite3_column_bytes(old, 5),
	};
	struct error why = { 0 };
	int r = head_put(owner, sqlite3_column_int64(old, 1), &report, &why);

	if (r == -EDQUOT || r == -ERANGE) {
		/* Not an agent's: 2,000 reports a second. */
		log_error("cannot convert a stored report, dropping it",
			log_err(&why), LOG_END);
		return 0;
	}
	if (r < 0) {
		*err = why;
	}
	return r;
}

static const struct conversion tail_of_5 = { 5, begin_head,
	{ "tail", "run, seq, sample_ms, stored_ms, body", move_row },
	"DROP TABLE tail; PRAGMA user_version = 6" };

/* A conversion from format 1 made no tail, unless an earlier version began it.
 * Until the end, the format is 5. An earlier program that opens the file then
 * reads the rest of tail and adds to it; the next conversion moves that, too.
 */
static int convert_tail(struct sqlite3 *db, const _Atomic bool *stopping,
	struct error *err)
{
	return db_has_column(db, "tail", NULL)
		? convert_rows(&tail_of_5, db, NULL, stopping, err)
		: db_exec(db, "PRAGMA user_version = 6", err);
}

/* ---- all ---- */

int conversion_run(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err)
{
	int64_t version = 0;
	int r = db_read_number(&version, db, "PRAGMA user_version", err);

	if (r == 0 && version == 1) {
		r = convert_rows(&reports_of_1, db, schema, stopping, err);
	}
	if (r == 0 && version <= 2) {
		r = convert_identities(db, err);
	}
	r = r == 0 && version <= 3 ? convert_decisions(db, err) : r;
	/* Format 5 has chunks that programs of format 4 cannot read. */
	if (r == 0 && version <= 4) {
		r = db_exec(db, "PRAGMA user_version = 5", err);
	}
	return r == 0 ? convert_tail(db, stopping, err) : r;
}
