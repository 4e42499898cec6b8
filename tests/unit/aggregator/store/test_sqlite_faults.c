/* Makes the calls of SQLite fail, one after the other: whatever a module of the
 * store does, it tells its caller of each error, leaves no transaction open,
 * and does its work when it is called again. */
#include "aggregator/store/last_reports.h"
#include "aggregator/store/offline_reader.h"
#include "aggregator/store/outbox_convert.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/pod_nodes.h"
#include "tests/unit/aggregator/store/maintained.h"

#include <errno.h>

SLOW("each call of SQLite fails once");

#define FAULTS_TEXT "the disk was made full"

static unsigned int faults_calls; /* until one fails; 0: none does */
static bool faults_is_full;	  /* one failed */

int __real_sqlite3_step(struct sqlite3_stmt *statement);
int __wrap_sqlite3_step(struct sqlite3_stmt *statement);
int __real_sqlite3_prepare_v3(struct sqlite3 *db, const char *sql, int bytes,
	unsigned int flags, struct sqlite3_stmt **out, const char **tail);
int __wrap_sqlite3_prepare_v3(struct sqlite3 *db, const char *sql, int bytes,
	unsigned int flags, struct sqlite3_stmt **out, const char **tail);
int __real_sqlite3_exec(struct sqlite3 *db, const char *sql,
	int (*row)(void *, int, char **, char **), void *owner, char **text);
int __wrap_sqlite3_exec(struct sqlite3 *db, const char *sql,
	int (*row)(void *, int, char **, char **), void *owner, char **text);
int __real_sqlite3_extended_errcode(struct sqlite3 *db);
int __wrap_sqlite3_extended_errcode(struct sqlite3 *db);
const char *__real_sqlite3_errmsg(struct sqlite3 *db);
const char *__wrap_sqlite3_errmsg(struct sqlite3 *db);

static bool faults_is_due(void)
{
	bool is_due = faults_calls > 0 && --faults_calls == 0;

	faults_is_full |= is_due;
	return is_due;
}

int __wrap_sqlite3_step(struct sqlite3_stmt *statement)
{
	return faults_is_due() ? SQLITE_FULL : __real_sqlite3_step(statement);
}

int __wrap_sqlite3_prepare_v3(struct sqlite3 *db, const char *sql, int bytes,
	unsigned int flags, struct sqlite3_stmt **out, const char **tail)
{
	return faults_is_due()
		? SQLITE_FULL
		: __real_sqlite3_prepare_v3(db, sql, bytes, flags, out, tail);
}

int __wrap_sqlite3_exec(struct sqlite3 *db, const char *sql,
	int (*row)(void *, int, char **, char **), void *owner, char **text)
{
	return strcmp(sql, "ROLLBACK") != 0 && faults_is_due()
		? SQLITE_FULL
		: __real_sqlite3_exec(db, sql, row, owner, text);
}

int __wrap_sqlite3_extended_errcode(struct sqlite3 *db)
{
	return faults_is_full && db != NULL
		? SQLITE_FULL
		: __real_sqlite3_extended_errcode(db);
}

const char *__wrap_sqlite3_errmsg(struct sqlite3 *db)
{
	return faults_is_full && db != NULL ? FAULTS_TEXT
					    : __real_sqlite3_errmsg(db);
}

struct faults_work {
	void (*prepare)(struct fixture *f); /* NULL: nothing */
	int (*run)(struct fixture *f, struct error *err);
	bool only_reads; /* else each run gets a new database */
	/* Errors of so many calls cost only what they would read: the name of a
	 * node in a log line, the last report of a node. */
	unsigned int untold;
};

/* How many rows each table has. */
static char *faults_rows(struct fixture *f)
{
	struct buffer text = BUFFER_MAX(1 << 16);
	struct sqlite3_stmt *names = NULL;
	int r = db_prepare(&names, f->db,
		"SELECT name FROM sqlite_schema WHERE type = 'table'"
		" ORDER BY name",
		NULL);

	while (db_step(&r, names, NULL)) {
		const char *name = (const char *)sqlite3_column_text(names, 0);
		scoped_free char *sql =
			xasprintf("SELECT count(*) FROM %s", name);

		buffer_printf(&text, "%s: %lld\n", name,
			(long long)fixture_number(f, sql));
	}
	(void)sqlite3_finalize(names);
	assert_int_equal(r, 0);
	buffer_char(&text, '\0');
	return text.data;
}

static struct fixture *begin_work(const struct faults_work *work)
{
	void *state;

	assert_int_equal(fixture_setup(&state), 0);
	if (work->prepare != NULL) {
		work->prepare(state);
	}
	return state;
}

static void end_work(struct fixture *f)
{
	void *state = f;

	assert_int_equal(fixture_teardown(&state), 0);
}

/* Does the work while the call with this number fails, then again. False: there
 * were not so many calls. */
static bool try_work(struct fixture *f, unsigned int *untold,
	const struct faults_work *work, unsigned int number)
{
	struct error err = { 0 };
	bool is_hit;
	int r;

	faults_calls = number;
	r = work->run(f, &err);
	is_hit = faults_is_full;
	faults_calls = 0;
	faults_is_full = false;
	assert_true(sqlite3_get_autocommit(f->db));
	if (is_hit && r == 0) {
		*untold += 1;
	} else if (is_hit ? r != -ENOSPC || err.code != r ||
				strstr(err.text, FAULTS_TEXT) == NULL
			  : r != 0 || err.code != 0 || err.text[0] != '\0') {
		fail_msg("call %u of SQLite: %d, error %d '%s'", number, r,
			err.code, err.text);
	}
	if (is_hit && r < 0) {
		assert_int_equal(work->run(f, NULL), 0);
	}
	return is_hit;
}

static void tell_all(void **state)
{
	const struct faults_work *work = *state;
	struct fixture *f = begin_work(work);
	scoped_free char *usual = NULL;
	unsigned int untold = 0;
	bool is_hit = true;

	assert_false(try_work(f, &untold, work, 0));
	usual = faults_rows(f);
	for (unsigned int number = 1; is_hit; number++) {
		scoped_free char *rows = NULL;

		if (!work->only_reads) {
			end_work(f);
			f = begin_work(work);
		}
		is_hit = try_work(f, &untold, work, number);
		rows = faults_rows(f);
		assert_string_equal(rows, usual);
	}
	end_work(f);
	assert_int_equal(untold, work->untold);
}

#define faults_test(sentence, work)                                            \
	{                                                                      \
		(#sentence), tell_all, NULL, NULL, (work)                      \
	}

/* ---- the work ---- */

static _Atomic bool stopping;

static int begin(struct fixture *f, struct error *err)
{
	return db_exec(f->db, "BEGIN IMMEDIATE", err);
}

static void put_report(struct fixture *f)
{
	fixture_add_at(f, 1, f->now_ms - 1000);
}

/* ---- opening ---- */

static int open_schema(struct fixture *f, struct error *err)
{
	scoped_free char *path = xasprintf("%s/new.db", f->scratch->dir);
	scoped_free char *wal = xasprintf("%s-wal", path);
	scoped_free char *shm = xasprintf("%s-shm", path);
	struct sqlite3 *db = NULL;
	int r = db_open(&db, path, err);

	r = r == 0 ? store_schema_prepare(db, &stopping, err) : r;
	r = r == 0 ? store_schema_check_format(db, err) : r;
	r = r == 0 ? store_schema_check_owner(path, err) : r;
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	(void)unlink(path);
	(void)unlink(wal);
	(void)unlink(shm);
	return r;
}

static int open_modules(struct fixture *f, struct error *err)
{
	static const struct store_options options = { .max_bytes = 1 };
	struct head *head = NULL;
	struct compact *compact = NULL;
	struct hour_scan *scan = NULL;
	struct decisions *decisions = NULL;
	struct move_table *moves = NULL;
	struct outbox_table *outbox = NULL;
	struct pod_nodes *pod_nodes = NULL;
	struct maintenance *maintenance = NULL;
	int r = head_new(&head, f->db, err);

	r = r == 0 ? compact_new(&compact, f->db, hour_ms, err) : r;
	r = r == 0 ? hour_scan_new(&scan, f->db, err) : r;
	r = r == 0 ? decisions_new(&decisions, f->db, err) : r;
	r = r == 0 ? move_table_new(&moves, f->db, err) : r;
	r = r == 0 ? outbox_table_new(&outbox, f->db, 1, err) : r;
	r = r == 0 ? pod_nodes_new(&pod_nodes, f->db, err) : r;
	r = r == 0 ? maintenance_new(&maintenance, f->db, &options, err) : r;
	maintenance_free(maintenance);
	pod_nodes_free(pod_nodes);
	outbox_table_free(outbox);
	move_table_free(moves);
	decisions_free(decisions);
	hour_scan_free(scan);
	compact_free(compact);
	head_free(head);
	return r;
}

/* ---- reports ---- */

static int add_report(struct fixture *f, struct head *head, uint64_t seq,
	struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 16);
	struct report report = fixture_report(seq);
	struct head_report row = { .run_id = run_a,
		.seq = seq,
		.sample_ms = f->now_ms,
		.stored_ms = f->now_ms };
	int r;

	wire_pack_report(&body, &report);
	report_fini(&report);
	row.body = body.data;
	row.len = body.len;
	r = head_find_node(&row.node, head, "n2", err);
	r = r == 0 ? head_add(head, &row, err) : r;
	return r < 0 ? r : 0;
}

static int add_reports(struct fixture *f, struct error *err)
{
	struct head *head = NULL;
	int r = head_new(&head, f->db, err);

	r = r == 0 ? begin(f, err) : r;
	r = r == 0 ? add_report(f, head, 1, err) : r;
	r = r == 0 ? add_report(f, head, 2, err) : r;
	r = r == 0 ? add_report(f, head, 2, err) : r;
	r = r == 0 ? add_report(f, head, 9, err) : r;
	r = db_end(f->db, r, err);
	head_free(head);
	return r;
}

static int name_pods(struct fixture *f, struct error *err)
{
	static const struct store_identity identity = { .pod_uid = "pod-1",
		.namespace = "ns",
		.name = "web",
		.vmi_uid = "vmi-1" };
	const struct pod_node_seen seen = { "pod-1", f->node, 1000, 2000 };
	struct pod_nodes *pod_nodes = NULL;
	int r = pod_nodes_new(&pod_nodes, f->db, err);

	r = r == 0 ? begin(f, err) : r;
	r = r == 0 ? pod_nodes_note(pod_nodes, &seen, err) : r;
	r = r == 0 ? pod_nodes_identify(pod_nodes, &identity, 1, 3000, err) : r;
	r = db_end(f->db, r, err);
	pod_nodes_free(pod_nodes);
	return r;
}

static void put_reports_and_pods(struct fixture *f)
{
	put_report(f);
	assert_int_equal(name_pods(f, NULL), 0);
}

static int delete_reports(struct fixture *f, struct error *err)
{
	struct head_deleted deleted;
	uint64_t newest_ms;
	int r = head_find_newest(&newest_ms, f->db, f->now_ms, err);

	r = r == 0 ? begin(f, err) : r;
	r = r == 0 ? head_delete_rows_of_node(&deleted, f->db, f->node,
			     SIZE_MAX, err)
		   : r;
	r = r == 0 ? head_delete_rows(&deleted, f->db, f->now_ms, SIZE_MAX, err)
		   : r;
	r = r == 0 ? head_delete_runs(f->db, 2 * f->now_ms, err) : r;
	r = r == 0 ? pod_nodes_delete(f->db, 2 * f->now_ms, err) : r;
	return db_end(f->db, r, err);
}

/* ---- chunks and rollups ---- */

static void put_old_reports(struct fixture *f)
{
	fixture_add_range(f, f->now_ms - 4 * hour_ms, 1797, 1802);
	f->now_ms += 4 * hour_ms;
}

static int pack(struct fixture *f, struct error *err)
{
	bool is_idle = false;
	int r = 0;

	while (r == 0 && !is_idle) {
		r = compact_step(f->compact, &is_idle, f->now_ms, err);
	}
	return r;
}

static int roll_up(struct fixture *f, struct error *err)
{
	bool is_idle = false;
	int r = 0;

	while (r == 0 && !is_idle) {
		r = rollups_step(&f->rollups, &is_idle, f->now_ms, err);
	}
	return r;
}

static void put_chunks(struct fixture *f)
{
	put_old_reports(f);
	put_report(f);
	assert_int_equal(pack(f, NULL), 0);
}

static bool on_report(void *owner, const struct store_row *row)
{
	(void)owner;
	(void)row;
	return true;
}

static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	(void)owner;
	(void)rollup;
	return true;
}

static int read_hour(struct fixture *f, struct error *err)
{
	const struct rollups_source source = { .db = f->db, .scan = f->scan };
	const struct store_read read = { .tier = STORE_1M,
		.rollup = on_minute };
	const uint64_t hour = f->now_ms - 8 * hour_ms;
	const struct hour_scan_range range = { f->node, "n1", NULL,
		hour + hour_ms - 10000, hour + hour_ms, SCHEMA_ALL };
	struct hour_scan_size size;
	bool is_done = false;
	int r = hour_scan_measure(&size, f->scan, &range, err);

	r = r == 0 ? hour_scan_read(f->scan, &is_done, &range, on_report, NULL,
			     err)
		   : r;
	return r == 0 ? rollups_read_all(&source, &is_done, &read, &range, err)
		      : r;
}

static void on_identity(void *owner, const struct store_vm *vm)
{
	(void)owner;
	(void)vm;
}

static int read_offline(struct fixture *f, struct error *err)
{
	const struct offline_reader read = {
		.path = f->scratch->db,
		.from_ms = f->now_ms - 8 * hour_ms,
		.to_ms = f->now_ms - 7 * hour_ms,
		.identity = on_identity,
		.minute = on_minute,
	};

	return offline_reader_read(&read, err);
}

static int read_last_reports(struct fixture *f, struct error *err)
{
	struct last_reports reports = { 0 };
	int r = last_reports_read(&reports, f->db, f->now_ms, err);

	last_reports_fini(&reports);
	return r;
}

static int drop_chunks(struct fixture *f, struct error *err)
{
	const struct partition_blob blob = { f->node, 1000, 2000, "xyz", 3 };
	struct partition_dropped dropped = { 0 };
	int r = begin(f, err);

	for (int i = 0; r == 0 && i < 3; i++) {
		r = partition_add(f->db, STORE_1M, &blob, err);
	}
	r = r == 0 ? partition_drop_of_node(&dropped, f->db, STORE_1M, f->node,
			     1, err)
		   : r;
	r = r == 0 ? partition_delete(f->db, STORE_1M, f->node, 0, err) : r;
	while (r == 0 && !dropped.is_gone) {
		r = partition_drop_some(&dropped, f->db, STORE_1M, 0, SIZE_MAX,
			err);
	}
	return db_end(f->db, r, err);
}

/* ---- records ---- */

static bool on_decision(void *owner, const struct decision_record *record)
{
	(void)owner;
	(void)record;
	return true;
}

static bool on_move(void *owner, const struct store_move *move)
{
	(void)owner;
	(void)move;
	return true;
}

static int write_records(struct fixture *f, struct error *err)
{
	struct decision_record decision = { .wall_us = 1000000,
		.namespace = "a",
		.pod = "p",
		.uid = "u",
		.policy = "real-load",
		.margin = NAN };
	struct move_record move = { .revision = 1,
		.wall_us = 1000000,
		.id = "m1",
		.namespace = "a",
		.vm = "v",
		.source = "n1" };
	struct store_batch *decided = store_decisions_new();
	struct store_batch *moved = store_moves_new();
	struct decisions *decisions = NULL;
	struct move_table *moves = NULL;
	int r = decisions_new(&decisions, f->db, err);

	store_decisions_add(decided, &decision);
	store_moves_add(moved, &move);
	r = r == 0 ? move_table_new(&moves, f->db, err) : r;
	r = r == 0 ? begin(f, err) : r;
	r = r == 0 ? decisions_write(decisions, decided, err) : r;
	r = r == 0 ? move_table_write(moves, moved, err) : r;
	r = db_end(f->db, r, err);
	store_batch_free(decided);
	store_batch_free(moved);
	decisions_free(decisions);
	move_table_free(moves);
	return r;
}

static void put_records(struct fixture *f)
{
	assert_int_equal(write_records(f, NULL), 0);
}

static int read_records(struct fixture *f, struct error *err)
{
	const struct store_decisions_read decisions = { .to_ms = f->now_ms,
		.limit = 10,
		.record = on_decision };
	const struct store_moves_read moves = { .before_ms = UINT64_MAX,
		.limit = 10,
		.move = on_move };
	uint64_t bytes;
	int r = decisions_read(f->db, &decisions, err);

	r = r == 0 ? move_table_read(f->db, &moves, err) : r;
	return r == 0 ? record_table_bytes(&bytes, f->db, &decisions_table, err)
		      : r;
}

static int delete_records(struct fixture *f, struct error *err)
{
	uint64_t bytes;
	size_t count;
	int r = begin(f, err);

	r = r == 0 ? record_table_delete_old(&count, f->db, &decisions_table,
			     f->now_ms, err)
		   : r;
	r = r == 0 ? record_table_delete_first(&count, &bytes, f->db,
			     &move_table_records, err)
		   : r;
	return db_end(f->db, r, err);
}

/* ---- the outbox ---- */

static bool on_outbox_row(void *owner, const struct outbox_row *row)
{
	(void)owner;
	(void)row;
	return true;
}

static void on_outbox_end(void *owner, const struct store_names *names)
{
	(void)owner;
	(void)names;
}

static int use_outbox(struct fixture *f, struct error *err)
{
	static const struct outbox_read read = { .shard = 1,
		.most = 10,
		.row = on_outbox_row,
		.end = on_outbox_end };
	const struct head_report report = { .node = 1,
		.sample_ms = 1000,
		.stored_ms = 1000,
		.body = "x",
		.len = 1 };
	struct outbox_table *table = NULL;
	size_t count;
	int r = outbox_table_new(&table, f->db, 3 * db_row_bytes(39), err);

	r = r == 0 ? begin(f, err) : r;
	for (int i = 0; r == 0 && i < 5; i++) {
		r = outbox_table_add(table, &report, err);
	}
	r = r == 0 ? outbox_table_delete(table, (UINT64_C(1) << 56) + 3, err)
		   : r;
	r = db_end(f->db, r, err);
	r = r == 0 ? outbox_table_read(f->db, &read, err) : r;
	r = r == 0 ? outbox_table_delete_left(&count, f->db, err) : r;
	outbox_table_free(table);
	return r;
}

static void put_old_outbox(struct fixture *f)
{
	assert_int_equal(db_exec(f->db,
				 "CREATE TABLE outbox(id INTEGER PRIMARY KEY,"
				 " node INTEGER, sample_ms INTEGER, stored_ms"
				 " INTEGER, body BLOB);"
				 "INSERT INTO outbox(node, sample_ms,"
				 " stored_ms, body) VALUES (1, 5, 6, 'x'),"
				 " (2, 7, 8, 'y')",
				 NULL),
		0);
}

static int convert_outbox(struct fixture *f, struct error *err)
{
	struct outbox_table *table = NULL;
	int r = outbox_table_new(&table, f->db, 1 << 20, err);

	r = r == 0 ? outbox_convert(table, f->db, &stopping, err) : r;
	outbox_table_free(table);
	return r;
}

/* ---- maintenance ---- */

static void put_all(struct fixture *f)
{
	put_chunks(f);
	put_records(f);
	fixture_add_at(f, 5000, f->now_ms - 2 * hour_ms);
}

static int maintain(struct fixture *f, struct error *err)
{
	static const uint64_t hour_us = UINT64_C(3600000000);
	const struct store_options options = { .path = f->scratch->db,
		.retention_us = { hour_us, hour_us, hour_us },
		.max_bytes = 1 << 20,
		.compact_us = hour_us,
		.decisions_kept_us = hour_us };
	struct maintenance_now now = { 1000000000, f->now_ms, 0 };
	struct maintenance *maintenance = NULL;
	int r = maintenance_new(&maintenance, f->db, &options, err);

	for (int i = 0; r == 0 && i < 8; i++) {
		now.monotonic_us =
			maintenance_due_us(maintenance) + now.monotonic_us;
		r = maintenance_step(maintenance, &now, err);
	}
	maintenance_free(maintenance);
	return r;
}

int main(void)
{
	static struct faults_work
		opening = { NULL, open_schema, false, 0 },
		modules = { NULL, open_modules, false, 0 },
		adding = { NULL, add_reports, false, 0 },
		naming = { NULL, name_pods, false, 0 },
		deleting = { put_reports_and_pods, delete_reports, false, 0 },
		packing = { put_old_reports, pack, false, 0 },
		rolling = { put_chunks, roll_up, false, 4 },
		reading = { put_chunks, read_hour, true, 0 },
		offline = { put_chunks, read_offline, true, 0 },
		last = { put_chunks, read_last_reports, true, 4 },
		dropping = { NULL, drop_chunks, false, 0 },
		writing = { NULL, write_records, false, 0 },
		listing = { put_records, read_records, true, 0 },
		old = { put_records, delete_records, false, 0 },
		outbox = { NULL, use_outbox, false, 0 },
		converting = { put_old_outbox, convert_outbox, false, 0 },
		maintaining = { put_all, maintain, false, 4 };
	const struct CMUnitTest tests[] = {
		faults_test(opening_a_database_tells_each_error, &opening),
		faults_test(opening_the_tables_tells_each_error, &modules),
		faults_test(adding_reports_tells_each_error, &adding),
		faults_test(naming_pods_tells_each_error, &naming),
		faults_test(deleting_reports_tells_each_error, &deleting),
		faults_test(packing_reports_tells_each_error, &packing),
		faults_test(rolling_up_tells_each_error, &rolling),
		faults_test(reading_an_hour_tells_each_error, &reading),
		faults_test(reading_a_file_offline_tells_each_error, &offline),
		faults_test(reading_last_reports_tells_each_error, &last),
		faults_test(dropping_chunks_tells_each_error, &dropping),
		faults_test(writing_records_tells_each_error, &writing),
		faults_test(listing_records_tells_each_error, &listing),
		faults_test(deleting_records_tells_each_error, &old),
		faults_test(the_outbox_tells_each_error, &outbox),
		faults_test(converting_the_outbox_tells_each_error,
			&converting),
		faults_test(maintenance_tells_each_error, &maintaining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
