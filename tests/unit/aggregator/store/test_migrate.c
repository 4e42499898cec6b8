#include "aggregator/store/migrate.h"

#include "tests/unit/aggregator/store/count_hours.h"

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
		"INSERT INTO report SELECT tail.id, node, run_id, seq,"
		" sample_ms, body FROM old.tail JOIN old.run"
		" ON run.id = tail.run;";
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
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 3);
	assert_int_equal(fixture_number(f, "SELECT count(*) FROM main.tail"),
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
	assert_int_equal(fixture_number(f, "PRAGMA user_version"), 3);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(converts_a_database_of_format_1),
		fixture_test(gives_the_pods_of_format_2_their_first_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
