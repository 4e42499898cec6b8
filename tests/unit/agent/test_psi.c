#include "agent/psi.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/agent/fixture.h"

#define SOME "some avg10=0.00 avg60=1.25 avg300=99.99 total=123456\n"
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n"

static void parses_the_totals(void **state)
{
	struct psi psi = { 0 };

	(void)state;
	assert_int_equal(psi_parse(&psi, SOME FULL, false, NULL), 0);
	assert_int_equal(psi.state, SOURCE_PRESENT);
	assert_int_equal(psi.some_us, 123456);
	assert_int_equal(psi.full_us, 99);
}

static void leaves_full_unknown_without_a_full_line(void **state)
{
	struct psi psi = { 0 };

	(void)state;
	assert_int_equal(psi_parse(&psi, SOME, false, NULL), 0);
	assert_int_equal(psi.some_us, 123456);
	assert_true(psi.full_us == REPORT_UNKNOWN);
}

static void skips_fields_of_later_kernels(void **state)
{
	static const char *const texts[] = {
		SOME FULL "irq avg10=1.00 total=5\n",
		"most avg10=0.00 total=5\n" SOME FULL,
		"some avg5=1.00 avg10=0.00 total=123456 max=7\n"
		"full total=99 avg10=0.00\n",
		"\n" SOME "\n" FULL,
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct psi psi = { 0 };

		assert_int_equal(psi_parse(&psi, texts[i], false, NULL), 0);
		assert_int_equal(psi.some_us, 123456);
		assert_int_equal(psi.full_us, 99);
	}
}

static void rejects_text_the_kernel_never_writes(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		FULL,
		"some\n",
		"some avg10=0.00 avg60=0.00 avg300=0.00\n",
		"some avg10=0.00 total=12", /* cut */
		"some avg10=0.00 total=12x\n",
		"some avg10=0.00 total=-1\n",
		"some avg10=0.00 total=\n",
		"some avg10=0.00 total=18446744073709551616\n",
		"some total=1\nfull avg10=0.00\n",
		"SOME total=1\n",
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct psi psi = { .some_us = 7 };
		struct error err = { 0 };

		assert_int_equal(psi_parse(&psi, texts[i], false, &err),
			-EBADMSG);
		assert_int_equal(psi.some_us, 7);
		assert_int_equal(err.code, -EBADMSG);
		assert_true(err.text[0] != '\0');
	}
}

static void reports_absent_or_error_but_never_0(void **state)
{
	struct tree tree;
	struct psi_files files = { 0 };
	struct pressure pressure = { 0 };
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	psi_files_init(&files, tree.fd);
	tree_put(&tree, "cpu.pressure", SOME);
	tree_put(&tree, "io.pressure", "gibberish\n");
	psi_files_read(&pressure, &files, &err);
	assert_int_equal(pressure.cpu.state, SOURCE_PRESENT);
	assert_int_equal(pressure.cpu.some_us, 123456);
	assert_int_equal(pressure.memory.state, SOURCE_ABSENT);
	assert_true(pressure.memory.some_us == REPORT_UNKNOWN);
	assert_true(pressure.memory.full_us == REPORT_UNKNOWN);
	assert_int_equal(pressure.io.state, SOURCE_ERROR);
	assert_true(pressure.io.some_us == REPORT_UNKNOWN);
	assert_string_equal(err.text, "io.pressure: no 'some' line");
	psi_files_fini(&files);
	tree_fini(&tree);
}

static void all_files_are_closed_at_the_end(void **state)
{
	struct tree tree;
	struct psi_files files = { 0 };
	struct pressure pressure = { 0 };
	struct error err = { 0 };
	int first, next;

	(void)state;
	tree_make(&tree);
	tree_put(&tree, "cpu.pressure", SOME);
	tree_put(&tree, "memory.pressure", SOME);
	tree_put(&tree, "io.pressure", SOME);
	psi_files_init(&files, tree.fd);
	first = dup(tree.fd);
	(void)close(first);
	psi_files_read(&pressure, &files, &err);
	psi_files_read(&pressure, &files, &err);
	for (int i = 0; i < 3; i++) {
		assert_true(fcntl(first + i, F_GETFD) >= 0);
	}
	psi_files_fini(&files);
	for (int i = 0; i < 3; i++) {
		assert_true(fcntl(first + i, F_GETFD) < 0);
	}
	next = dup(tree.fd);
	assert_int_equal(next, first);
	(void)close(next);
	psi_files_fini(NULL);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_the_totals),
		cmocka_unit_test(leaves_full_unknown_without_a_full_line),
		cmocka_unit_test(skips_fields_of_later_kernels),
		cmocka_unit_test(rejects_text_the_kernel_never_writes),
		cmocka_unit_test(reports_absent_or_error_but_never_0),
		cmocka_unit_test(all_files_are_closed_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
