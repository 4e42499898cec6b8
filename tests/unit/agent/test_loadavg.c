#include "agent/cpu.h"

#include <errno.h>

#include "tests/unit/agent/fixture.h"

static void parses_three_averages(void **state)
{
	struct report report;

	(void)state;
	report_init(&report);
	assert_int_equal(cpu_parse_loadavg(&report,
				 "0.05 12.50 3.99 2/345 6789\n", NULL),
		0);
	assert_float_equal(report.load1, 0.05, 1e-9);
	assert_float_equal(report.load5, 12.5, 1e-9);
	assert_float_equal(report.load15, 3.99, 1e-9);
}

static void rejects_text_the_kernel_never_writes(void **state)
{
	static const char *const texts[] = { "", "1.0 2.0\n", "a b c\n",
		"-1.0 2.0 3.0 1/2 3\n", "1.0 2.0 3.0\n" };
	struct report report;

	(void)state;
	report_init(&report);
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_int_equal(cpu_parse_loadavg(&report, texts[i], NULL),
			-EBADMSG);
		assert_true(isnan(report.load1));
	}
}

static void a_missing_file_is_no_error(void **state)
{
	struct tree tree;
	struct kernel_file file;
	struct report report;
	struct error err = { 0 };

	(void)state;
	report_init(&report);
	tree_make(&tree);
	kernel_file_init(&file, tree.fd, "loadavg");
	cpu_read_loadavg(&report, &file, &err);
	assert_true(isnan(report.load1));
	assert_int_equal(err.code, 0);
	kernel_file_init(&file, tree.fd, "loadavg");
	tree_put(&tree, "loadavg", "?");
	cpu_read_loadavg(&report, &file, &err);
	assert_int_equal(err.code, -EBADMSG);
	kernel_file_fini(&file);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_three_averages),
		cmocka_unit_test(rejects_text_the_kernel_never_writes),
		cmocka_unit_test(a_missing_file_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
