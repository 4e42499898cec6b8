#include "lib/program.h"

#include "lib/memory.h"
#include "tests/support/capture.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct config {
	const char *name;
};

static const struct option table[] = {
	{ .name = "name",
		.placeholder = "NAME",
		.type = OPTION_TEXT,
		.offset = offsetof(struct config, name),
		.help = "a name" },
	{ 0 },
};

static const char *ran;

static int check(void *config, struct error *err)
{
	const struct config *c = config;

	return c->name == NULL ? error_set(err, -EINVAL, "--name is missing")
			       : 0;
}

static int run_first(const void *config, struct error *err)
{
	(void)config;
	ran = "first";
	return error_set(err, -EIO, "it does not work");
}

static int run_second(const void *config, struct error *err)
{
	(void)err;
	ran = ((const struct config *)config)->name;
	return 0;
}

static const struct program first = {
	.options = &(const struct options_program){ .name = "test",
		.summary = "",
		.usage = "",
		.table = table },
	.config_size = sizeof(struct config),
	.run = run_first,
};

static const struct program second = {
	.options = &(const struct options_program){ .name = "test sub",
		.summary = "does the second thing",
		.usage = "",
		.table = table },
	.config_size = sizeof(struct config),
	.check = check,
	.run = run_second,
};

static const struct program moved = {
	.options = &(const struct options_program){ .name = "test old" },
	.moved_to = "test-new",
};

static const struct program *const programs[] = { &first, &second, &moved };

static const char *library_version(void)
{
	return "1.2.3";
}

static const struct program_library libraries[] = {
	{ "libtest", library_version },
	{ NULL, NULL },
};

static void a_subcommand_runs_with_its_flags(void **state)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "sub" },
		(char[]){ "--name=x" }, NULL };

	(void)state;
	assert_int_equal(program_main(argv, programs, 2, libraries), 0);
	assert_string_equal(ran, "x");
}

static void the_first_program_runs_without_a_subcommand(void **state)
{
	char *argv[] = { (char[]){ "test" }, NULL };
	char *none[] = { NULL };

	(void)state;
	assert_int_equal(program_main(argv, programs, 2, libraries),
		PROGRAM_FAILED);
	assert_string_equal(ran, "first");
	ran = NULL;
	assert_int_equal(program_main(none, programs, 2, libraries),
		PROGRAM_FAILED);
	assert_string_equal(ran, "first");
}

static void a_wrong_command_line_ends_with_2(void **state)
{
	char *unknown[] = { (char[]){ "test" }, (char[]){ "--x" }, NULL };
	char *missing[] = { (char[]){ "test" }, (char[]){ "sub" }, NULL };

	(void)state;
	ran = NULL;
	assert_int_equal(program_main(unknown, programs, 2, libraries),
		PROGRAM_USAGE);
	assert_int_equal(program_main(missing, programs, 2, libraries),
		PROGRAM_USAGE);
	assert_null(ran);
}

/* The exit status; *text is what the command printed on fd. */
static int run_and_read(char **argv, int fd, char *text, size_t size)
{
	struct capture capture;
	int status;

	capture_begin(&capture, fd);
	status = program_main(argv, programs, count_of(programs), libraries);
	capture_end(&capture, text, size);
	return status;
}

static void help_lists_the_subcommands_that_are_here(void **state)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "--help" }, NULL };
	char *sub[] = { (char[]){ "test" }, (char[]){ "sub" },
		(char[]){ "--help" }, NULL };
	char text[2048];

	(void)state;
	assert_int_equal(run_and_read(argv, STDOUT_FILENO, text, sizeof(text)),
		0);
	assert_non_null(strstr(text,
		"\nsubcommands, each with a --help of its own:\n"
		"  sub\n        does the second thing\n"));
	assert_null(strstr(text, "old"));
	assert_int_equal(run_and_read(sub, STDOUT_FILENO, text, sizeof(text)),
		0);
	assert_null(strstr(text, "subcommands"));
}

static void a_subcommand_that_moved_names_the_program(void **state)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "old" },
		(char[]){ "--flag" }, NULL };
	char text[256];

	(void)state;
	ran = NULL;
	assert_int_equal(run_and_read(argv, STDERR_FILENO, text, sizeof(text)),
		PROGRAM_USAGE);
	assert_string_equal(text,
		"test old: is a program of its own now; run test-new with the "
		"same flags\n");
	assert_null(ran);
}

static void help_runs_nothing(void **state)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "sub" },
		(char[]){ "--help" }, NULL };

	(void)state;
	ran = NULL;
	assert_int_equal(program_main(argv, programs, 2, libraries), 0);
	assert_null(ran);
}

static void version_names_the_commit_and_the_libraries(void **state)
{
	char *argv[] = { (char[]){ "test" }, (char[]){ "sub" },
		(char[]){ "--version" }, NULL };
	scoped_free char *expected =
		xasprintf("test sub %s\ncommit %s\nlibtest 1.2.3\n",
			plimsoll_version, plimsoll_commit);
	char text[512];

	(void)state;
	ran = NULL;
	assert_int_equal(run_and_read(argv, STDOUT_FILENO, text, sizeof(text)),
		0);
	assert_string_equal(text, expected);
	assert_null(ran);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subcommand_runs_with_its_flags),
		cmocka_unit_test(the_first_program_runs_without_a_subcommand),
		cmocka_unit_test(a_wrong_command_line_ends_with_2),
		cmocka_unit_test(help_lists_the_subcommands_that_are_here),
		cmocka_unit_test(a_subcommand_that_moved_names_the_program),
		cmocka_unit_test(help_runs_nothing),
		cmocka_unit_test(version_names_the_commit_and_the_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
