#include "aggregator/store/backup_mark.h"

#include "aggregator/store/db_file.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <stdio.h>

STEADY("a restored backup is not mixed with a log");

/* The call of these that fails, counted from 1; 0: none. A process that is
 * killed does not make the call either. */
static struct {
	unsigned failing, calls;
} steps;

static bool step_fails(void)
{
	steps.calls++;
	if (steps.failing != 0 && steps.calls >= steps.failing) {
		errno = EIO;
		return true;
	}
	return false;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	return step_fails() ? -1 : __real_rename(from, to);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return step_fails() ? -1 : __real_pwrite(fd, bytes, len, at);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	return step_fails() ? -1 : __real_fsync(fd);
}

static void put(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, bytes, len), (int)len);
	(void)close(fd);
}

/* A file beside the database: whether it is there with this text. */
static bool holds(const struct scratch *s, const char *suffix, const char *text)
{
	scoped_free char *path = xasprintf("%s%s", s->db, suffix);
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char got[32] = "";

	return fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0 &&
		strcmp(got, text) == 0;
}

static bool is_there(const struct scratch *s, const char *suffix)
{
	scoped_free char *path = xasprintf("%s%s", s->db, suffix);

	return access(path, F_OK) == 0;
}

/* A database with this id, a log beside it, and a lock of a process that found
 * damage. */
static void put_all(const struct scratch *s, const char *id)
{
	scoped_free char *log = xasprintf("%s-wal", s->db);
	scoped_free char *index = xasprintf("%s-shm", s->db);
	scoped_free char *lock = xasprintf("%s.lock", s->db);
	char header[4096] = "SQLite format 3";

	memcpy(header + DB_FILE_APPLICATION_ID_AT, id, 4);
	put(s->db, header, sizeof(header));
	put(log, "old log", 7);
	put(index, "old index", 9);
	put(lock, "damaged\n", 8);
}

static int take(const struct scratch *s, struct error *err)
{
	struct db_file file;
	int r = db_file_init(&file, s->db, err);

	assert_int_equal(r, 0);
	steps.calls = 0;
	r = backup_mark_take(&file, err);
	if (r == 0) {
		steps.failing = 0;
		assert_int_equal(db_file_check(&file, err), 0);
	}
	db_file_fini(&file);
	return r;
}

static uint32_t id_of(const struct scratch *s)
{
	scoped_fd int fd = open(s->db, O_RDONLY | O_CLOEXEC);
	uint32_t id = 0;

	assert_true(db_file_read_id(&id, fd));
	return id;
}

static void assert_restored(const struct scratch *s)
{
	assert_int_equal(id_of(s), DB_FILE_APPLICATION_ID);
	assert_false(is_there(s, "-wal"));
	assert_false(is_there(s, "-shm"));
	assert_true(holds(s, ".lock", "closed\n"));
	assert_true(holds(s, "-wal.before-restore-1", "old log"));
}

static void clean(const struct scratch *s)
{
	static const char *const names[] = { "", "-wal", "-shm", ".lock",
		"-wal.before-restore-1", "-wal.before-restore-2" };

	for (size_t i = 0; i < count_of(names); i++) {
		scoped_free char *path = xasprintf("%s%s", s->db, names[i]);

		(void)unlink(path);
	}
}

static void a_log_beside_a_backup_is_set_aside(void **state)
{
	const struct scratch *s = *state;

	put_all(s, "plmb");
	assert_int_equal(take(s, NULL), 0);
	assert_restored(s);
	clean(s);
}

static void a_log_of_an_open_database_stays(void **state)
{
	const struct scratch *s = *state;
	struct db_file file;

	put_all(s, "plms");
	assert_int_equal(db_file_init(&file, s->db, NULL), 0);
	assert_int_equal(backup_mark_take(&file, NULL), 0);
	assert_int_equal(file.mark, DB_FILE_DAMAGED);
	db_file_fini(&file);
	assert_true(holds(s, "-wal", "old log"));
	assert_true(holds(s, "-shm", "old index"));
	clean(s);
}

static void a_kill_at_any_step_loses_nothing(void **state)
{
	const struct scratch *s = *state;
	unsigned at = 0;
	int r;

	do {
		put_all(s, "plmb");
		steps.failing = ++at;
		r = take(s, NULL);
		steps.failing = 0;
		/* Until the log is away for certain, the mark stays. */
		if (r < 0 && is_there(s, "-wal")) {
			assert_int_equal(id_of(s), BACKUP_MARK_ID);
		}
		assert_int_equal(r < 0 ? take(s, NULL) : 0, 0);
		if (r < 0 || at == 1) {
			assert_restored(s);
		}
		clean(s);
	} while (r < 0);
	/* The log, the folder, the lock and its sync, the mark and its sync. */
	assert_int_equal(at - 1, 6);
}

static void a_second_restore_keeps_the_first_log(void **state)
{
	const struct scratch *s = *state;

	put_all(s, "plmb");
	assert_int_equal(take(s, NULL), 0);
	put_all(s, "plmb");
	assert_int_equal(take(s, NULL), 0);
	assert_true(holds(s, "-wal.before-restore-1", "old log"));
	assert_true(holds(s, "-wal.before-restore-2", "old log"));
	clean(s);
}

static void a_folder_that_cannot_be_changed_is_one_sentence(void **state)
{
	const struct scratch *s = *state;
	struct error err = { 0 };

	put_all(s, "plmb");
	steps.failing = 1;
	assert_int_equal(take(s, &err), -EIO);
	steps.failing = 0;
	assert_non_null(strstr(err.text, "cannot restore the backup '"));
	assert_non_null(strstr(err.text, "-wal': Input/output error"));
	clean(s);
}

static void nothing_is_restored_without_a_file(void **state)
{
	const struct scratch *s = *state;

	assert_int_equal(take(s, NULL), 0);
	assert_false(is_there(s, ""));
	clean(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_log_beside_a_backup_is_set_aside),
		scratch_test(a_log_of_an_open_database_stays),
		scratch_test(a_kill_at_any_step_loses_nothing),
		scratch_test(a_second_restore_keeps_the_first_log),
		scratch_test(a_folder_that_cannot_be_changed_is_one_sentence),
		scratch_test(nothing_is_restored_without_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
