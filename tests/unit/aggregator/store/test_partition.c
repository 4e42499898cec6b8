#include "aggregator/store/partition.h"

#include "tests/unit/aggregator/store/fixture.h"

static void add(struct fixture *f, int64_t node, uint64_t from_ms, size_t len)
{
	scoped_free char *body = xcalloc(1, len);
	const struct partition_blob blob = { node, from_ms, from_ms, body,
		len };

	assert_int_equal(partition_add(f->db, STORE_RAW, &blob, NULL), 0);
}

static int64_t read_number(struct fixture *f, const char *sql)
{
	int64_t number = -1;

	assert_int_equal(db_read_number(&number, f->db, sql, NULL), 0);
	return number;
}

static int64_t bytes_of(struct fixture *f, int64_t node)
{
	scoped_free char *sql =
		xasprintf("SELECT bytes FROM blob_bytes WHERE node = %lld",
			(long long)node);

	return read_number(f, sql);
}

/* The only table of the tier. */
static char *table(struct fixture *f)
{
	struct sqlite3_stmt *find;
	char *name;

	assert_int_equal(sqlite3_prepare_v2(f->db,
				 "SELECT name FROM sqlite_schema WHERE "
				 "type = 'table' AND name GLOB 'raw_[0-9]*'",
				 -1, &find, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(find), SQLITE_ROW);
	name = xstrdup((const char *)sqlite3_column_text(find, 0));
	(void)sqlite3_finalize(find);
	return name;
}

static void the_bytes_of_a_node_follow_its_blobs(void **state)
{
	struct fixture *f = *state;
	struct partition_dropped dropped;

	add(f, 1, f->now_ms, 1000);
	add(f, 1, f->now_ms + 1, 500);
	add(f, 2, f->now_ms, 70);
	assert_int_equal(bytes_of(f, 1), 1500);
	assert_int_equal(
		partition_drop_of_node(&dropped, f->db, STORE_RAW, 1, 1, NULL),
		0);
	assert_int_equal(dropped.blobs, 1);
	assert_int_equal(dropped.bytes, 1000);
	assert_int_equal(dropped.from_ms, f->now_ms);
	assert_false(dropped.is_gone);
	assert_int_equal(bytes_of(f, 1), 500);
	assert_int_equal(bytes_of(f, 2), 70);
}

static void an_error_of_a_deletion_is_told_and_no_blob_is_uncounted(
	void **state)
{
	struct fixture *f = *state;
	struct partition_dropped dropped;
	scoped_free char *name = NULL, *sql = NULL;

	add(f, 1, f->now_ms, 1000);
	name = table(f);
	sql = xasprintf(
		"CREATE TRIGGER broken BEFORE DELETE ON %s BEGIN"
		" DELETE FROM not_there; END",
		name);
	assert_int_equal(db_exec(f->db, sql, NULL), 0);
	assert_true(partition_drop_of_node(&dropped, f->db, STORE_RAW, 1, 1,
			    NULL) < 0);
	assert_true(partition_drop_some(&dropped, f->db, STORE_RAW, f->now_ms,
			    1, NULL) < 0);
	assert_true(partition_delete(f->db, STORE_RAW, 1,
			    partition_hour(f->now_ms), NULL) < 0);
	assert_false(dropped.is_gone);
	assert_int_equal(bytes_of(f, 1), 1000);
}

/* As after a disk error: the table has other columns. */
static void a_table_that_cannot_be_read_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct partition_reader reader = { .tier = STORE_RAW };
	struct partition_dropped dropped;
	struct sqlite3_stmt *rows = NULL;
	scoped_free char *name = NULL, *drop = NULL, *create = NULL;

	add(f, 1, f->now_ms, 10);
	name = table(f);
	drop = xasprintf("DROP TABLE %s", name);
	create = xasprintf("CREATE TABLE %s(other)", name);
	assert_int_equal(db_exec(f->db, drop, NULL), 0);
	assert_int_equal(db_exec(f->db, create, NULL), 0);
	assert_true(partition_select(&rows, &reader, f->db, 1,
			    partition_hour(f->now_ms), NULL) < 0);
	assert_true(partition_list(&rows, &reader, f->db, 1,
			    partition_hour(f->now_ms), NULL) < 0);
	assert_true(partition_drop_of_node(&dropped, f->db, STORE_RAW, 1, 1,
			    NULL) < 0);
	assert_true(partition_newest(&rows, f->db, 1, INT64_MAX, NULL) < 0);
	partition_reader_fini(&reader);
}

static void an_empty_table_goes_with_the_step_that_finds_it_so(void **state)
{
	struct fixture *f = *state;
	struct partition_dropped dropped;
	struct partition_span span;

	add(f, 1, f->now_ms, 10);
	assert_int_equal(partition_find_span(&span, f->db, STORE_RAW, NULL), 0);
	assert_int_equal(span.count, 1);
	assert_int_equal(partition_drop_some(&dropped, f->db, STORE_RAW,
				 span.from_ms, 1000, NULL),
		0);
	assert_int_equal(dropped.blobs, 1);
	assert_false(dropped.is_gone);
	assert_int_equal(partition_drop_some(&dropped, f->db, STORE_RAW,
				 span.from_ms, 1000, NULL),
		0);
	assert_true(dropped.is_gone);
	assert_int_equal(partition_find_span(&span, f->db, STORE_RAW, NULL), 0);
	assert_int_equal(span.count, 0);
}

static void an_hour_of_a_node_is_deleted_without_its_neighbours(void **state)
{
	struct fixture *f = *state;
	uint64_t hour = partition_hour(f->now_ms);

	add(f, 1, hour, 1);
	add(f, 1, hour + hour_ms - 1, 10);
	add(f, 1, hour - 1, 100);
	add(f, 1, hour + hour_ms, 1000);
	add(f, 2, hour, 10000);
	assert_int_equal(partition_delete(f->db, STORE_RAW, 1, hour, NULL), 0);
	assert_int_equal(bytes_of(f, 1), 1100);
	assert_int_equal(bytes_of(f, 2), 10000);
}

static void the_newest_blob_of_a_node_is_found_in_any_table(void **state)
{
	struct fixture *f = *state;
	struct sqlite3_stmt *newest = NULL;

	assert_int_equal(partition_newest(&newest, f->db, 1, INT64_MAX, NULL),
		0);
	assert_null(newest);
	add(f, 1, f->now_ms, 5);
	add(f, 1, f->now_ms + 9, 7);
	add(f, 2, f->now_ms + 48 * hour_ms, 3);
	assert_int_equal(partition_newest(&newest, f->db, 1, INT64_MAX, NULL),
		0);
	assert_non_null(newest);
	assert_int_equal(sqlite3_column_bytes(newest, 0), 7);
	(void)sqlite3_finalize(newest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(the_bytes_of_a_node_follow_its_blobs),
		fixture_test(
			an_error_of_a_deletion_is_told_and_no_blob_is_uncounted),
		fixture_test(a_table_that_cannot_be_read_is_an_error),
		fixture_test(
			an_empty_table_goes_with_the_step_that_finds_it_so),
		fixture_test(
			an_hour_of_a_node_is_deleted_without_its_neighbours),
		fixture_test(the_newest_blob_of_a_node_is_found_in_any_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
