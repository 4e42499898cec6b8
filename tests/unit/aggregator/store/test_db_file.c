#include "aggregator/store/db_file.h"

#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <sys/stat.h>

static void put(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, bytes, len), (int)len);
	(void)close(fd);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void remembers_how_the_last_process_ended(void **state)
{
	static const enum db_file_state all[] = { DB_FILE_IN_USE,
		DB_FILE_CLOSED, DB_FILE_DAMAGED, DB_FILE_CLOSED };
	struct scratch *s = *state;
	struct db_file file;

	assert_int_equal(db_file_init(&file, s->db, NULL), 0);
	assert_int_equal(file.mark, DB_FILE_UNMARKED);
	assert_false(db_file_is_ours(&file));
	for (size_t i = 0; i < count_of(all); i++) {
		assert_int_equal(db_file_mark(&file, all[i], NULL), 0);
		db_file_fini(&file);
		assert_int_equal(db_file_init(&file, s->db, NULL), 0);
		assert_int_equal(file.mark, all[i]);
		assert_true(db_file_is_ours(&file));
	}
	db_file_fini(&file);
}

static void checks_the_header_without_opening_the_database(void **state)
{
	static const struct {
		const char *begin;
		uint8_t id[4];
		enum db_file_state mark;
		int code;
	} cases[] = {
		{ "SQLite format 3", { 0 }, DB_FILE_UNMARKED, 0 },
		{ "SQLite format 3", "plms", DB_FILE_UNMARKED, 0 },
		{ "SQLite format 3", "plmt", DB_FILE_UNMARKED, -EINVAL },
		{ "SQLite format 3", "plmt", DB_FILE_IN_USE, -EINVAL },
		{ "SQLite format 3", "plms", DB_FILE_DAMAGED, -EBADMSG },
		{ "SQLite format 4", "plms", DB_FILE_UNMARKED, -EINVAL },
		{ "SQLite format 4", "plms", DB_FILE_CLOSED, -EBADMSG },
	};
	struct scratch *s = *state;

	for (size_t i = 0; i < count_of(cases); i++) {
		uint8_t header[4096] = { 0 };
		struct db_file file;
		struct error error;

		memcpy(header, cases[i].begin, 16);
		memcpy(header + 68, cases[i].id, 4);
		put(s->db, header, sizeof(header));
		assert_int_equal(db_file_init(&file, s->db, NULL), 0);
		file.mark = cases[i].mark;
		assert_int_equal(db_file_check(&file, &error), cases[i].code);
		assert_true(cases[i].code == 0 ||
			strstr(error.text, s->db) != NULL);
		db_file_fini(&file);
	}
}

static void refuses_a_file_too_short_for_a_header(void **state)
{
	struct scratch *s = *state;
	struct db_file file;

	assert_int_equal(db_file_init(&file, s->db, NULL), 0);
	assert_int_equal(db_file_check(&file, NULL), 0); /* none */
	put(s->db, "", 0);
	assert_int_equal(db_file_check(&file, NULL), 0);
	put(s->db, "SQLite format 3", 16);
	assert_int_equal(db_file_check(&file, NULL), -EINVAL);
	db_file_fini(&file);
}

static void keeps_three_damaged_databases(void **state)
{
	const struct error why = { -EBADMSG, "torn" };
	struct scratch *s = *state;
	struct db_file file;
	char text[12];

	assert_int_equal(db_file_init(&file, s->db, NULL), 0);
	for (int i = 1; i <= 5; i++) {
		scoped_free char *log = xasprintf("%s-wal", s->db);

		(void)snprintf(text, sizeof(text), "%d", i);
		put(s->db, text, strlen(text));
		put(log, text, strlen(text));
		assert_int_equal(db_file_set_aside(&file, &why, NULL), 0);
		assert_false(is_there(s->db));
		assert_false(is_there(log));
	}
	for (int i = 1; i <= 5; i++) {
		scoped_free char *name = xasprintf("%s.damaged-%d", s->db, i);
		scoped_free char *log = xasprintf("%s-wal", name);

		assert_int_equal(is_there(name), i > 2);
		assert_int_equal(is_there(log), i > 2);
		(void)unlink(name);
		(void)unlink(log);
	}
	db_file_fini(&file);
}

static void detects_that_an_open_file_lost_its_name(void **state)
{
	static const char *const suffixes[] = { "", "-wal" };
	struct scratch *s = *state;
	scoped_free char *log = xasprintf("%s-wal", s->db);
	struct db_file file;

	assert_int_equal(db_file_init(&file, s->db, NULL), 0);
	put(s->db, "a", 1);
	put(log, "a", 1);
	assert_int_equal(db_file_note_ids(&file, NULL), 0);
	for (size_t i = 0; i < count_of(suffixes); i++) {
		scoped_free char *path = xasprintf("%s%s", s->db, suffixes[i]);
		scoped_free char *away = xasprintf("%s.away", path);

		assert_int_equal(db_file_check_ids(&file, NULL), 0);
		assert_int_equal(rename(path, away), 0);
		assert_int_equal(db_file_check_ids(&file, NULL), -ENOENT);
		put(path, "b", 1);
		assert_int_equal(db_file_check_ids(&file, NULL), -ENOENT);
		assert_int_equal(rename(away, path), 0);
	}
	assert_int_equal(db_file_check_ids(&file, NULL), 0);
	db_file_fini(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(remembers_how_the_last_process_ended),
		scratch_test(checks_the_header_without_opening_the_database),
		scratch_test(refuses_a_file_too_short_for_a_header),
		scratch_test(keeps_three_damaged_databases),
		scratch_test(detects_that_an_open_file_lost_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
