#include "aggregator/store/conversion.h"

#include "aggregator/store/decisions.h"
#include "tests/support/capture.h"
#include "tests/unit/aggregator/store/count_hours.h"

#include <errno.h>
#include <unistd.h>

static void converts_a_database_of_format_1(void **state)
{
	static const char format_1[] =
		"CREATE TABLE node(id INTEGER PRIMARY KEY,"
		" name TEXT NOT NULL UNIQUE);"
		"CREATE TABLE report(id INTEGER PRIMARY KEY,"
		" node INTEGER NOT NULL, run_id BLOB NOT NULL,"
		" seq INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
		" body BLOB NOT NULL, UNIQUE(node, run_id, seq));"
		"CREATE INDEX report_time ON report(node, sample_ms);"
		"PRAGMA user_version = 1;"
		"INSERT INTO node SELECT * FROM old.node;"
		"INSERT INTO report SELECT head.id, node, run_id, seq,"
		" sample_ms, body FROM old.head JOIN old.run"
		" ON run.id = head.run;";
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	static _Atomic bool stopping;
	struct sqlite3 *old = f->db;
	char sql[200];

	fixture_add_range(f, base_ms, 1, 1600);
	(void)snprintf(sql, sizeof(sql), "ATTACH '%s' AS old", f->scratch->db);
	hour_scan_free(take_ptr(f->scan));
	compact_free(take_ptr(f->compact));
	head_free(take_ptr(f->head));
	assert_int_equal(sqlite3_open(":memory:", &f->db), SQLITE_OK);
	assert_int_equal(db_exec(f->db, sql, NULL), 0);
	assert_int_equal(db_exec(f->db, format_1, NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 6);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM main.head"),
		1599);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM main.seqs"),
		1);
	assert_int_equal(hour_scan_new(&f->scan, f->db, NULL), 0);
	assert_int_equal(db_exec(f->db, "DETACH old", NULL), 0);
	assert_int_equal(count_hours(f, base_ms, 2), 1599);
	(void)sqlite3_close(old);
}

/* pod-1 has the node that reported it first; nobody reported pod-2. */
static void gives_the_pods_of_format_2_their_first_node(void **state)
{
	static const char format_2[] =
		"DROP TABLE identity;"
		"CREATE TABLE identity(pod_uid TEXT PRIMARY KEY, namespace"
		" TEXT NOT NULL, name TEXT NOT NULL, vmi_uid TEXT NOT NULL,"
		" seen_ms INTEGER NOT NULL) WITHOUT ROWID;"
		"CREATE INDEX identity_name ON identity(namespace, name);"
		"INSERT INTO identity VALUES('pod-1', 'ns', 'a', 'u', 5),"
		" ('pod-2', 'ns', 'b', '', 6);"
		"INSERT INTO place VALUES('pod-1', 7, 2000, 9000),"
		" ('pod-1', 8, 1000, 1500), ('pod-3', 9, 1, 2);"
		"PRAGMA user_version = 2;";
	static _Atomic bool stopping;
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, format_2, NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 6);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM identity"), 2);
	assert_int_equal(fixture_number(f,
				 "SELECT node FROM identity"
				 " WHERE pod_uid = 'pod-1' AND vmi_uid = 'u'"
				 " AND seen_ms = 5"),
		8);
	assert_int_equal(fixture_number(f,
				 "SELECT node FROM identity INDEXED BY"
				 " identity_name WHERE namespace = 'ns'"
				 " AND name = 'b'"),
		0);
}

/* A decision keeps its other columns, and has no VM. */
static void decisions_of_format_3_have_no_vm(void **state)
{
	static const char format_3[] =
		"CREATE TABLE decision (id INTEGER PRIMARY KEY,"
		" namespace TEXT NOT NULL, pod TEXT NOT NULL, uid TEXT NOT "
		"NULL,"
		" wall_ms INTEGER NOT NULL, body BLOB NOT NULL,"
		" UNIQUE (namespace, pod, wall_ms, uid));"
		"CREATE INDEX decision_age ON decision (wall_ms);"
		"INSERT INTO decision VALUES(4, 'ns', 'p', 'u', 5, x'00');"
		"PRAGMA user_version = 3;";
	static _Atomic bool stopping;
	struct fixture *f = *state;
	struct decisions *decisions = NULL;
	char text[4096];
	struct capture capture;

	assert_int_equal(db_exec(f->db, format_3, NULL), 0);
	/* A conversion that takes long says so before it begins. */
	capture_begin(&capture, STDERR_FILENO);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	capture_end(&capture, text, sizeof(text));
	assert_non_null(strstr(text, "converting the decisions from format 3"));
	assert_non_null(strstr(text, "decisions converted"));
	assert_int_equal(fixture_number(f,
				 "SELECT count(*) FROM sqlite_schema"
				 " WHERE name = 'decision_vm'"),
		1);
	assert_int_equal(decisions_new(&decisions, f->db, NULL), 0);
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 6);
	assert_int_equal(fixture_number(f,
				 "SELECT id FROM decision WHERE pod = 'p'"
				 " AND wall_ms = 5 AND vm IS NULL"),
		4);
	assert_int_equal(fixture_number(f,
				 "SELECT count(*) FROM decision INDEXED BY"
				 " decision_vm WHERE namespace = 'ns'"
				 " AND vm = 'v'"),
		0);
	decisions_free(decisions);
}

static void a_database_of_format_3_without_decisions_is_converted(void **state)
{
	static _Atomic bool stopping;
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, "PRAGMA user_version = 3", NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 6);
}

/* Gives the head of a new database the ids and the name of format 5. */
static const char as_format_5[] =
	"CREATE TABLE kept AS SELECT * FROM head ORDER BY run, seq;"
	"CREATE TABLE tail(id INTEGER PRIMARY KEY, run INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, sample_ms INTEGER NOT NULL,"
	" stored_ms INTEGER NOT NULL, body BLOB NOT NULL);"
	"INSERT INTO tail SELECT ((sample_ms >> 17) << 38) | (node << 18)"
	" | (row_number() OVER (PARTITION BY node, sample_ms >> 17"
	" ORDER BY sample_ms) - 1), run, seq, sample_ms, stored_ms, body"
	" FROM head JOIN run ON run.id = head.run;"
	"PRAGMA user_version = 5;";

static const char changed_rows[] =
	"SELECT count(*) FROM (SELECT run, seq, sample_ms, stored_ms, body"
	" FROM head EXCEPT SELECT run, seq, sample_ms, stored_ms, body"
	" FROM kept)";

/* Two nodes with more rows than one transaction moves. */
static void fill_format_5(struct fixture *f, uint64_t base_ms)
{
	assert_int_equal(head_find_node(&f->node, f->head, "n2", NULL), 0);
	fixture_add_range(f, base_ms, 1, 1600);
	assert_int_equal(head_find_node(&f->node, f->head, "n1", NULL), 0);
	fixture_add_range(f, base_ms, 1, 5400);
	head_free(take_ptr(f->head));
	assert_int_equal(db_exec(f->db, as_format_5, NULL), 0);
}

static void check_format_6(struct fixture *f, uint64_t base_ms)
{
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 6);
	assert_int_equal(fixture_number(f,
				 "SELECT count(*) FROM sqlite_schema"
				 " WHERE name = 'tail'"),
		0);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"),
		1599 + 5399);
	assert_int_equal(fixture_number(f, changed_rows), 0);
	assert_int_equal(count_hours(f, base_ms, 4), 5399);
	assert_int_equal(head_new(&f->head, f->db, NULL), 0);
	assert_int_equal(head_find_node(&f->node, f->head, "n2", NULL), 0);
	assert_int_equal(count_hours(f, base_ms, 4), 1599);
}

static void rows_of_format_5_move_into_shorter_slots(void **state)
{
	static _Atomic bool stopping;
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fill_format_5(f, base_ms);
	assert_int_equal(db_exec(f->db, "DROP TABLE head", NULL), 0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	check_format_6(f, base_ms);
	/* A report that comes again is known. */
	fixture_add_range(f, base_ms, 1, 1600);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM head"),
		1599 + 5399);
}

static void a_conversion_that_was_interrupted_goes_on(void **state)
{
	static _Atomic bool stopping = true;
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	fill_format_5(f, base_ms);
	assert_int_equal(db_exec(f->db,
				 "DELETE FROM head WHERE seq > 800;"
				 "DELETE FROM tail WHERE seq <= 800",
				 NULL),
		0);
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL),
		-ECANCELED);
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 5);
	stopping = false;
	assert_int_equal(store_schema_prepare(f->db, &stopping, NULL), 0);
	check_format_6(f, base_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(converts_a_database_of_format_1),
		fixture_test(gives_the_pods_of_format_2_their_first_node),
		fixture_test(decisions_of_format_3_have_no_vm),
		fixture_test(
			a_database_of_format_3_without_decisions_is_converted),
		fixture_test(rows_of_format_5_move_into_shorter_slots),
		fixture_test(a_conversion_that_was_interrupted_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
