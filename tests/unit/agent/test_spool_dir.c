#include "agent/spool_dir.h"

#include "tests/unit/agent/fixture.h"

#include <errno.h>

static struct tree tree;
static struct spool_dir dir;
static char found[256];

static int setup(void **state)
{
	struct error err;

	(void)state;
	tree_make(&tree);
	found[0] = '\0';
	assert_int_equal(spool_dir_open(&dir, tree.path, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	spool_dir_close(&dir);
	tree_fini(&tree);
	return 0;
}

static void note(void *owner, const char name[SPOOL_NAME_BYTES])
{
	(void)owner;
	(void)strncat(found, name, sizeof(found) - strlen(found) - 1);
	(void)strncat(found, " ", sizeof(found) - strlen(found) - 1);
}

static void create(uint64_t number)
{
	char name[SPOOL_NAME_BYTES];
	int fd;

	spool_dir_name(name, number);
	fd = spool_dir_create(&dir, name, NULL);
	assert_true(fd >= 0);
	(void)close(fd);
}

static uint64_t next_number(void)
{
	uint64_t next = 0;

	found[0] = '\0';
	assert_int_equal(spool_dir_find(&dir, &next, note, NULL, NULL), 0);
	return next;
}

static void the_first_file_of_an_empty_spool_has_number_1(void **state)
{
	(void)state;
	assert_int_equal(next_number(), 1);
	assert_string_equal(found, "");
}

/* Files of the process before must not be overwritten. */
static void the_next_number_is_above_all_files(void **state)
{
	char expected[3 * SPOOL_NAME_BYTES] = "";

	(void)state;
	create(12);
	create(3);
	create(100);
	assert_int_equal(next_number(), 101);
	for (int i = 0; i < 3; i++) {
		static const uint64_t sorted[] = { 3, 12, 100 };
		char name[SPOOL_NAME_BYTES];

		spool_dir_name(name, sorted[i]);
		(void)strncat(expected, name, SPOOL_NAME_BYTES);
		(void)strncat(expected, " ", 2);
	}
	assert_string_equal(found, expected);
}

static void other_files_are_left_alone(void **state)
{
	(void)state;
	create(5);
	tree_put(&tree, "notes.txt", "mine");
	tree_put(&tree, "7", "mine");
	assert_int_equal(next_number(), 6);
	assert_null(strstr(found, "notes"));
}

static void a_second_process_is_refused(void **state)
{
	struct spool_dir second;
	struct error err;

	(void)state;
	assert_int_equal(spool_dir_open(&second, tree.path, &err), -EBUSY);
	spool_dir_close(&second);
	spool_dir_close(&dir);
	assert_int_equal(spool_dir_open(&dir, tree.path, &err), 0);
}

static void a_file_is_not_created_twice_and_deleted_once(void **state)
{
	char name[SPOOL_NAME_BYTES];

	(void)state;
	create(1);
	spool_dir_name(name, 1);
	assert_int_equal(spool_dir_delete(&dir, name, NULL), 0);
	assert_int_equal(spool_dir_delete(&dir, name, NULL), 0);
	assert_int_equal(next_number(), 1);
}

static void reading_ends_at_the_end_of_the_file(void **state)
{
	char name[SPOOL_NAME_BYTES], got[8] = "";

	(void)state;
	spool_dir_name(name, 1);
	assert_int_equal(spool_dir_read(&dir, name, 0, got, 4, NULL), 0);
	tree_put(&tree, name, "abcdef");
	assert_int_equal(spool_dir_read(&dir, name, 1, got, 4, NULL), 4);
	assert_string_equal(got, "bcde");
	assert_int_equal(spool_dir_read(&dir, name, 4, got, 4, NULL), 2);
	assert_int_equal(spool_dir_read(&dir, name, 6, got, 4, NULL), 0);
}

static void a_file_without_a_header_is_no_segment(void **state)
{
	char name[SPOOL_NAME_BYTES];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t bytes;

	(void)state;
	spool_dir_name(name, 1);
	tree_put(&tree, name, "short");
	assert_int_equal(spool_dir_identify(&dir, name, run_id, &bytes, NULL),
		-EBADMSG);
	assert_int_equal(spool_dir_delete(&dir, name, NULL), 0);
	assert_int_equal(spool_dir_identify(&dir, name, run_id, &bytes, NULL),
		-EBADMSG);
	tree_dir(&tree, name);
	assert_int_equal(spool_dir_identify(&dir, name, run_id, &bytes, NULL),
		-EBADMSG);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_first_file_of_an_empty_spool_has_number_1),
		test(the_next_number_is_above_all_files),
		test(other_files_are_left_alone),
		test(a_second_process_is_refused),
		test(a_file_is_not_created_twice_and_deleted_once),
		test(reading_ends_at_the_end_of_the_file),
		test(a_file_without_a_header_is_no_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
