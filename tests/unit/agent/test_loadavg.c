#include "agent/loadavg.h"

#include <errno.h>

#include "tests/unit/agent/fixture.h"

static void reads_three_averages(void **state)
{
	struct report report;

	(void)state;
	report_init(&report);
	assert_int_equal(
		loadavg_parse(&report, "0.05 12.50 3.99 2/345 6789\n", NULL),
		0);
	assert_float_equal(report.load1, 0.05, 1e-9);
	assert_float_equal(report.load5, 12.5, 1e-9);
	assert_float_equal(report.load15, 3.99, 1e-9);
}

static void refuses_what_the_kernel_never_writes(void **state)
{
	static const char *const texts[] = { "", "1.0 2.0\n", "a b c\n",
		"-1.0 2.0 3.0 1/2 3\n", "1.0 2.0 3.0\n" };
	struct report report;

	(void)state;
	report_init(&report);
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_int_equal(loadavg_parse(&report, texts[i], NULL),
			-EBADMSG);
		assert_true(isnan(report.load1));
	}
}

static void a_file_that_is_not_there_is_no_trouble(void **state)
{
	struct tree tree;
	struct kept_file file;
	struct report report;
	struct error err = { 0 };

	(void)state;
	report_init(&report);
	tree_make(&tree);
	kept_file_init(&file, tree.fd, "loadavg");
	loadavg_read(&report, &file, &err);
	assert_true(isnan(report.load1));
	assert_int_equal(err.code, 0);
	kept_file_init(&file, tree.fd, "loadavg");
	tree_put(&tree, "loadavg", "?");
	loadavg_read(&report, &file, &err);
	assert_int_equal(err.code, -EBADMSG);
	kept_file_fini(&file);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_three_averages),
		cmocka_unit_test(refuses_what_the_kernel_never_writes),
		cmocka_unit_test(a_file_that_is_not_there_is_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
