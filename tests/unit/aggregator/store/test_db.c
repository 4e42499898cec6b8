/* The error that a caller of the database can tell from another one. */
#include "aggregator/store/db.h"

#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <sqlite3.h>

struct fixture {
	struct scratch *scratch;
	struct sqlite3 *db;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *scratch;
	int r = scratch_setup(&scratch);

	f->scratch = scratch;
	*state = f;
	assert_int_equal(db_open(&f->db, f->scratch->db, NULL), 0);
	assert_int_equal(
		db_exec(f->db, "CREATE TABLE t(id INTEGER, body BLOB)", NULL),
		0);
	return r;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->scratch;

	(void)sqlite3_close(f->db);
	free(f);
	return scratch_teardown(&scratch);
}

static int insert(struct fixture *f, unsigned bytes)
{
	scoped_free char *sql =
		xasprintf("INSERT INTO t VALUES (1, zeroblob(%u))", bytes);

	return db_exec(f->db, sql, NULL);
}

static void a_full_disk_is_enospc(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, "PRAGMA max_page_count = 8", NULL), 0);
	assert_int_equal(insert(f, 1 << 20), -ENOSPC);
}

static void a_lock_of_another_program_is_ebusy(void **state)
{
	struct fixture *f = *state;
	struct sqlite3 *other;

	assert_int_equal(db_open(&other, f->scratch->db, NULL), 0);
	assert_int_equal(db_exec(other, "BEGIN IMMEDIATE", NULL), 0);
	(void)sqlite3_busy_timeout(f->db, 0);
	assert_int_equal(insert(f, 1), -EBUSY);
	assert_int_equal(db_end(other, 0, NULL), 0);
	assert_int_equal(insert(f, 1), 0);
	(void)sqlite3_close(other);
}

static void a_file_that_is_no_database_is_ebadmsg(void **state)
{
	struct fixture *f = *state;
	scoped_free char *path = xasprintf("%s/other.db", f->scratch->dir);
	struct sqlite3 *other = NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char text[4096];

	memset(text, 'x', sizeof(text));
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	(void)close(fd);
	assert_int_equal(db_open_readonly(&other, path, 0, NULL), 0);
	assert_int_equal(db_exec(other, "SELECT * FROM t", NULL), -EBADMSG);
	(void)sqlite3_close(other);
	(void)unlink(path);
}

static void writing_without_the_right_is_eacces(void **state)
{
	struct fixture *f = *state;
	struct sqlite3 *reader = NULL;

	assert_int_equal(db_open_readonly(&reader, f->scratch->db, 0, NULL), 0);
	assert_int_equal(db_exec(reader, "DELETE FROM t", NULL), -EACCES);
	(void)sqlite3_close(reader);
}

static void a_value_that_is_too_large_is_edquot(void **state)
{
	struct fixture *f = *state;

	(void)sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, 1000);
	assert_int_equal(insert(f, 1001), -EDQUOT);
	assert_int_equal(insert(f, 500), 0);
}

static void any_other_error_is_eio(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(db_exec(f->db, "SELECT * FROM nothing", NULL), -EIO);
}

static void a_transaction_with_an_error_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	int64_t rows = -1;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	assert_int_equal(insert(f, 1), 0);
	assert_int_equal(db_end(f->db, -EIO, NULL), -EIO);
	assert_int_equal(
		db_read_number(&rows, f->db, "SELECT count(*) FROM t", NULL),
		0);
	assert_int_equal(rows, 0);
	assert_true(sqlite3_get_autocommit(f->db));
	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	assert_int_equal(insert(f, 1), 0);
	assert_int_equal(db_end(f->db, 0, NULL), 0);
	assert_int_equal(
		db_read_number(&rows, f->db, "SELECT count(*) FROM t", NULL),
		0);
	assert_int_equal(rows, 1);
}

static void a_file_that_cannot_be_opened_leaves_nothing_open(void **state)
{
	struct sqlite3 *db = NULL;

	(void)state;
	assert_true(db_open(&db, "/nowhere/plimsoll.db", NULL) < 0);
	assert_true(db_open_readonly(&db, "/nowhere/plimsoll.db", 0, NULL) < 0);
	assert_null(db);
}

static void the_version_is_that_of_the_library(void **state)
{
	(void)state;
	assert_string_equal(store_library_version(), sqlite3_libversion());
}

static void tables_and_columns_are_found_by_name(void **state)
{
	struct fixture *f = *state;

	assert_true(db_has_column(f->db, "t", "body"));
	assert_true(db_has_column(f->db, "t", NULL));
	assert_false(db_has_column(f->db, "t", "absent"));
	assert_false(db_has_column(f->db, "absent", NULL));
}

static void a_number_stays_without_a_row(void **state)
{
	struct fixture *f = *state;
	int64_t number = 7;

	assert_int_equal(
		db_read_number(&number, f->db, "SELECT id FROM t", NULL), 0);
	assert_int_equal(number, 7);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_full_disk_is_enospc),
		test(a_lock_of_another_program_is_ebusy),
		test(a_file_that_is_no_database_is_ebadmsg),
		test(writing_without_the_right_is_eacces),
		test(a_value_that_is_too_large_is_edquot),
		test(any_other_error_is_eio),
		test(a_transaction_with_an_error_is_rolled_back),
		cmocka_unit_test(
			a_file_that_cannot_be_opened_leaves_nothing_open),
		cmocka_unit_test(the_version_is_that_of_the_library),
		test(tables_and_columns_are_found_by_name),
		test(a_number_stays_without_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
