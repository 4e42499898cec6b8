#include "lib/files.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG_FILE = 40000 }; /* more than one read of file_read() */

struct fixture {
	char path[32];
	int dir;
	char *long_text;
};

static void write_file(const struct fixture *f, const char *name,
	const char *bytes, size_t len)
{
	scoped_fd int fd = openat(f->dir, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	memcpy(f->path, "/tmp/test_files.XXXXXX", 23);
	assert_non_null(mkdtemp(f->path));
	f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->dir >= 0);
	f->long_text = xcalloc(LONG_FILE + 1, 1);
	for (size_t i = 0; i < LONG_FILE; i++) {
		f->long_text[i] = (char)('a' + i % 26);
	}
	write_file(f, "empty", "", 0);
	write_file(f, "ten", "123456789\n", 10);
	write_file(f, "nul", "a\0b", 3);
	write_file(f, "long", f->long_text, LONG_FILE);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "empty", "ten", "nul", "long" };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(names); i++) {
		(void)unlinkat(f->dir, names[i], 0);
	}
	(void)close(f->dir);
	assert_int_equal(rmdir(f->path), 0);
	free(f->long_text);
	free(f);
	return 0;
}

static void reads_a_small_file_and_adds_a_nul(void **state)
{
	const struct fixture *f = *state;
	char text[64];

	memset(text, 'x', sizeof(text));
	assert_int_equal(file_read_at(text, sizeof(text), f->dir, "ten", NULL),
		10);
	assert_string_equal(text, "123456789\n");
	assert_int_equal(file_read_at(text, sizeof(text), f->dir, "nul", NULL),
		3);
	assert_memory_equal(text, "a\0b", 4);
}

static void reads_an_empty_file_as_an_empty_text(void **state)
{
	const struct fixture *f = *state;
	char text[64] = "x";

	assert_int_equal(
		file_read_at(text, sizeof(text), f->dir, "empty", NULL), 0);
	assert_string_equal(text, "");
	assert_int_equal(file_read_at(text, 1, f->dir, "empty", NULL), 0);
}

static void the_limit_is_exact(void **state)
{
	const struct fixture *f = *state;
	char text[11];
	struct error err = { 0 };

	assert_int_equal(file_read_at(text, 11, f->dir, "ten", &err), 10);
	assert_string_equal(text, "123456789\n");
	assert_int_equal(file_read_at(text, 10, f->dir, "ten", &err), -EFBIG);
	assert_int_equal(err.code, -EFBIG);
	assert_string_equal(err.text, "'ten' is larger than 9 bytes");
	assert_int_equal(file_read_at(text, 1, f->dir, "ten", &err), -EFBIG);
}

static void reads_a_file_longer_than_one_read(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *text = xcalloc(LONG_FILE + 1, 1);

	assert_int_equal(
		file_read_at(text, LONG_FILE + 1, f->dir, "long", NULL),
		LONG_FILE);
	assert_string_equal(text, f->long_text);
}

static void the_error_names_a_missing_file(void **state)
{
	const struct fixture *f = *state;
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	char text[64];
	struct error err = { 0 };

	assert_int_equal(file_read_at(text, sizeof(text), f->dir, "none", &err),
		-ENOENT);
	assert_string_equal(err.text,
		"cannot open 'none': No such file or directory");
	assert_int_equal(file_read(&out, "/proc/none", &err), -ENOENT);
	assert_string_equal(err.text,
		"cannot open '/proc/none': No such file or directory");
}

static void the_error_gives_the_cause(void **state)
{
	const struct fixture *f = *state;
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	char text[64];
	struct error err = { 0 };

	assert_int_equal(file_read_at(text, sizeof(text), f->dir, ".", &err),
		-EINVAL);
	assert_string_equal(err.text, "'.' is not a regular file");
	assert_int_equal(file_read(&out, f->path, &err), -EINVAL);
	assert_non_null(strstr(err.text, f->path));
	assert_int_equal(file_read_input(&out, f->path, &err), -EISDIR);
	assert_non_null(strstr(err.text, "Is a directory"));
}

/* Nobody writes into the FIFO: opening it as usual waits for ever. */
static void what_is_no_file_is_refused_without_waiting(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *path = xasprintf("%s/fifo", f->path);
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	struct error err = { 0 };
	char text[64];

	assert_int_equal(mkfifoat(f->dir, "fifo", 0600), 0);
	assert_int_equal(file_read_at(text, sizeof(text), f->dir, "fifo", &err),
		-EINVAL);
	assert_string_equal(err.text, "'fifo' is not a regular file");
	assert_int_equal(file_read(&out, path, &err), -EINVAL);
	assert_int_equal(file_read(&out, "/dev/null", &err), -EINVAL);
	assert_string_equal(err.text, "'/dev/null' is not a regular file");
	assert_int_equal(unlinkat(f->dir, "fifo", 0), 0);
}

static void a_link_leads_to_a_file(void **state)
{
	const struct fixture *f = *state;
	char text[64];

	assert_int_equal(symlinkat("ten", f->dir, "link"), 0);
	assert_int_equal(file_read_at(text, sizeof(text), f->dir, "link", NULL),
		10);
	assert_int_equal(unlinkat(f->dir, "link", 0), 0);
}

static void an_input_may_be_a_pipe(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(100);
	int fds[2], before = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(write(fds[1], "text", 4), 4);
	(void)close(fds[1]);
	assert_int_equal(file_read_input(&out, "-", NULL), 0);
	assert_string_equal(out.data, "text");
	assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
	(void)close(before);
	(void)close(fds[0]);
}

static void reads_a_whole_file_up_to_the_maximum(void **state)
{
	const struct fixture *f = *state;
	scoped_free char *path = xasprintf("%s/long", f->path);
	scoped_buffer struct buffer fits = BUFFER_MAX(LONG_FILE);
	scoped_buffer struct buffer small = BUFFER_MAX(LONG_FILE - 1);
	struct error err = { 0 };

	assert_int_equal(file_read(&fits, path, &err), 0);
	assert_int_equal(fits.len, LONG_FILE);
	assert_string_equal(fits.data, f->long_text);
	assert_int_equal(file_read(&small, path, &err), -EFBIG);
	assert_non_null(strstr(err.text, "is larger than 39999 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_small_file_and_adds_a_nul),
		cmocka_unit_test(reads_an_empty_file_as_an_empty_text),
		cmocka_unit_test(the_limit_is_exact),
		cmocka_unit_test(reads_a_file_longer_than_one_read),
		cmocka_unit_test(the_error_names_a_missing_file),
		cmocka_unit_test(the_error_gives_the_cause),
		cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
		cmocka_unit_test(a_link_leads_to_a_file),
		cmocka_unit_test(an_input_may_be_a_pipe),
		cmocka_unit_test(reads_a_whole_file_up_to_the_maximum),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
