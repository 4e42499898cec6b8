#include "agent/kernel_file.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/agent/fixture.h"

struct fixture {
	struct tree tree;
	struct kernel_file file;
	char text[16];
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	kernel_file_init(&f.file, f.tree.fd, "file");
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kernel_file_fini(&f->file);
	tree_fini(&f->tree);
	return 0;
}

static int read_it(struct fixture *f)
{
	return kernel_file_read(&f->file, f->text, sizeof(f->text), NULL);
}

static void reads_new_content_of_an_open_file(void **state)
{
	struct fixture *f = *state;
	int fd;

	tree_put(&f->tree, "file", "one\n");
	assert_int_equal(read_it(f), 4);
	assert_string_equal(f->text, "one\n");
	fd = openat(f->tree.fd, "file", O_WRONLY);
	assert_int_equal(pwrite(fd, "two\n", 4, 0), 4);
	(void)close(fd);
	assert_int_equal(read_it(f), 4);
	assert_string_equal(f->text, "two\n");
}

static void opens_a_file_that_appears_later(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	assert_int_equal(
		kernel_file_read(&f->file, f->text, sizeof(f->text), &err),
		-ENOENT);
	assert_string_equal(err.text,
		"cannot open 'file': No such file or directory");
	tree_put(&f->tree, "file", "here");
	for (int i = 1; i < KERNEL_FILE_RETRY; i++) {
		assert_int_equal(read_it(f), -ENOENT);
	}
	assert_int_equal(read_it(f), 4);
}

static void rejects_a_full_buffer_as_cut(void **state)
{
	struct fixture *f = *state;

	tree_put(&f->tree, "file", "12345678901234");
	assert_int_equal(read_it(f), 14);
	tree_put(&f->tree, "file", "123456789012345");
	assert_int_equal(read_it(f), -EFBIG);
	tree_put(&f->tree, "file", "1234567890123456789");
	assert_int_equal(read_it(f), -EFBIG);
}

/* A read must fail on an open descriptor. A directory gives that. */
static void returns_why_a_read_fails(void **state)
{
	struct fixture *f = *state;

	tree_dir(&f->tree, "file");
	assert_int_equal(read_it(f), -EISDIR);
	assert_int_equal(read_it(f), -EISDIR);
}

static void distinguishes_absent_disabled_and_error(void **state)
{
	static const struct {
		int r;
		enum source_state is;
		const char *text;
	} cases[] = {
		{ 12, SOURCE_PRESENT, "" },
		{ 0, SOURCE_PRESENT, "" },
		{ -ENOENT, SOURCE_ABSENT, "" },
		{ -ENODEV, SOURCE_ABSENT, "" },
		{ -EOPNOTSUPP, SOURCE_DISABLED, "" },
		{ -EACCES, SOURCE_ERROR, "why" },
		{ -EFBIG, SOURCE_ERROR, "why" },
		{ -EBADMSG, SOURCE_ERROR, "file: why" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(cases); i++) {
		const struct error why = { .code = cases[i].r, .text = "why" };
		struct error err = { 0 };

		assert_int_equal(
			kernel_file_state(&f->file, cases[i].r, &why, &err),
			cases[i].is);
		assert_string_equal(err.text, cases[i].text);
		assert_int_equal(
			kernel_file_state(&f->file, cases[i].r, &why, NULL),
			cases[i].is);
	}
}

static void can_be_closed_twice(void **state)
{
	struct fixture *f = *state;
	struct kernel_file zeroed = { 0 };

	tree_put(&f->tree, "file", "x");
	assert_int_equal(read_it(f), 1);
	kernel_file_fini(&f->file);
	kernel_file_fini(&f->file);
	kernel_file_fini(&zeroed);
	kernel_file_fini(NULL);
	assert_int_equal(read_it(f), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_new_content_of_an_open_file),
		TEST(opens_a_file_that_appears_later),
		TEST(rejects_a_full_buffer_as_cut),
		TEST(returns_why_a_read_fails),
		TEST(distinguishes_absent_disabled_and_error),
		TEST(can_be_closed_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
