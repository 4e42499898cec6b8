#include "agent/meminfo.h"

#include <errno.h>

#include "tests/unit/agent/fixture.h"

static void converts_kibibytes_to_bytes(void **state)
{
	static const char text[] =
		"MemTotal:       24684096 kB\nMemFree:        20000000 kB\n"
		"MemAvailable:   23000000 kB\nSwapCached:            3 kB\n"
		"SwapTotal:       1000000 kB\nSwapFree:         999999 kB\n";
	struct memory m = { 0 };

	(void)state;
	assert_int_equal(meminfo_parse(&m, text, NULL), 0);
	assert_int_equal(m.state, SOURCE_PRESENT);
	assert_int_equal(m.total_bytes, UINT64_C(24684096) * 1024);
	assert_int_equal(m.available_bytes, UINT64_C(23000000) * 1024);
	assert_int_equal(m.swap_total_bytes, 1024000000);
	assert_int_equal(m.swap_free_bytes, 1023998976);
}

static void leaves_missing_values_unknown(void **state)
{
	static const char text[] =
		"MemTotal: 1 kB\nMemAvailable: lots\n"
		"SwapFree: 18446744073709551615 kB\n";
	struct memory m = { 0 };

	(void)state;
	assert_int_equal(meminfo_parse(&m, text, NULL), 0);
	assert_int_equal(m.total_bytes, 1024);
	assert_true(m.available_bytes == REPORT_UNKNOWN);
	assert_true(m.swap_total_bytes == REPORT_UNKNOWN);
	assert_true(m.swap_free_bytes == REPORT_UNKNOWN);
}

static void counts_bytes_that_were_swapped_in(void **state)
{
	uint64_t bytes = 7;

	(void)state;
	assert_int_equal(meminfo_parse_vmstat(&bytes,
				 "pgpgin 5\npswpin 3\npswpout 9\n", NULL),
		0);
	assert_int_equal(bytes, 3 * sysconf(_SC_PAGESIZE));
	assert_int_equal(meminfo_parse_vmstat(&bytes,
				 "pswpin 18446744073709551615\n", NULL),
		0);
	assert_true(bytes == REPORT_UNKNOWN);
}

static void rejects_a_vmstat_without_swap(void **state)
{
	uint64_t bytes = 7;

	(void)state;
	assert_int_equal(
		meminfo_parse_vmstat(&bytes, "pswpout 9\npswpin\n", NULL),
		-EBADMSG);
	assert_int_equal(bytes, 7);
}

/* A node without swap does not pay for the file. */
static void reads_vmstat_only_where_there_is_swap(void **state)
{
	struct tree tree;
	struct kernel_file file;
	struct memory m = meminfo_unknown;

	(void)state;
	tree_make(&tree);
	tree_put(&tree, "vmstat", "pswpin 2\n");
	kernel_file_init(&file, tree.fd, "vmstat");
	meminfo_read_swap_in(&m, &file, NULL);
	m.swap_total_bytes = 0;
	meminfo_read_swap_in(&m, &file, NULL);
	assert_true(m.swap_in_bytes == REPORT_UNKNOWN);
	assert_false(file.is_open);
	m.swap_total_bytes = 1;
	meminfo_read_swap_in(&m, &file, NULL);
	assert_int_equal(m.swap_in_bytes, 2 * sysconf(_SC_PAGESIZE));
	kernel_file_fini(&file);
	tree_fini(&tree);
}

static void rejects_a_line_without_a_total(void **state)
{
	static const char *const texts[] = { "", "MemFree: 1 kB\n",
		"MemTotal: x kB\n", "MemTotal\n",
		"MemTotal: 99999999999999999999 kB\n" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct memory m = { .total_bytes = 3 };

		assert_int_equal(meminfo_parse(&m, texts[i], NULL), -EBADMSG);
		assert_int_equal(m.total_bytes, 3);
	}
}

static void reports_a_missing_file_as_absent_and_bad_text_as_error(void **state)
{
	struct tree tree;
	struct kernel_file file;
	struct memory m = { 0 };
	struct error err = { 0 };

	(void)state;
	tree_make(&tree);
	kernel_file_init(&file, tree.fd, "meminfo");
	meminfo_read(&m, &file, &err);
	assert_int_equal(m.state, SOURCE_ABSENT);
	kernel_file_init(&file, tree.fd, "meminfo");
	tree_put(&tree, "meminfo", "nothing\n");
	meminfo_read(&m, &file, &err);
	assert_int_equal(m.state, SOURCE_ERROR);
	assert_string_equal(err.text, "meminfo: no 'MemTotal' line");
	tree_put(&tree, "meminfo", "MemTotal: 2 kB\n");
	meminfo_read(&m, &file, &err);
	assert_int_equal(m.state, SOURCE_PRESENT);
	assert_int_equal(m.total_bytes, 2048);
	kernel_file_fini(&file);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts_kibibytes_to_bytes),
		cmocka_unit_test(leaves_missing_values_unknown),
		cmocka_unit_test(counts_bytes_that_were_swapped_in),
		cmocka_unit_test(rejects_a_vmstat_without_swap),
		cmocka_unit_test(reads_vmstat_only_where_there_is_swap),
		cmocka_unit_test(rejects_a_line_without_a_total),
		cmocka_unit_test(
			reports_a_missing_file_as_absent_and_bad_text_as_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
