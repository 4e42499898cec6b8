#include "agent/cpu.h"

#include <errno.h>

#include "lib/buffer.h"
#include "tests/unit/agent/fixture.h"

static void parses_totals_to_microseconds(void **state)
{
	static const char text[] =
		"cpu  100 2 30 4000 5 6 7 8 9 10\n"
		"cpu0 50 1 15 2000 3 3 4 4 5 5\n"
		"cpu1 50 1 15 2000 2 3 3 4 4 5\n"
		"intr 123 4 5\nctxt 99\n";
	struct cpu_totals cpu = { .possible = 12 };

	(void)state;
	assert_int_equal(cpu_parse_stat(&cpu, text, 100, NULL), 0);
	assert_int_equal(cpu.state, SOURCE_PRESENT);
	assert_int_equal(cpu.online, 2);
	assert_int_equal(cpu.possible, 12);
	assert_int_equal(cpu.user_us, 1000000);
	assert_int_equal(cpu.nice_us, 20000);
	assert_int_equal(cpu.system_us, 300000);
	assert_int_equal(cpu.idle_us, 40000000);
	assert_int_equal(cpu.iowait_us, 50000);
	assert_int_equal(cpu.irq_us, 60000);
	assert_int_equal(cpu.softirq_us, 70000);
	assert_int_equal(cpu.steal_us, 80000);
}

static void counts_cpus_with_gaps_and_missing_modes(void **state)
{
	struct cpu_totals cpu = { 0 };

	(void)state;
	assert_int_equal(cpu_parse_stat(&cpu,
				 "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu7 1 2 3 4\n",
				 1000, NULL),
		0);
	assert_int_equal(cpu.online, 2);
	assert_int_equal(cpu.idle_us, 4000);
	assert_true(cpu.iowait_us == REPORT_UNKNOWN);
	assert_true(cpu.steal_us == REPORT_UNKNOWN);
}

static void rejects_text_the_kernel_never_writes(void **state)
{
	static const char *const texts[] = {
		"",
		"cpu0 1 2 3 4\n",
		"cpu\n",
		"cpu  1 2 3\ncpu0 1 2 3\n",
		"cpu  1 2 3 4 x\ncpu0 1 2 3 4\n",
		"cpu  1 2 -3 4 5\ncpu0 1 2 3 4\n",
		"cpu  1 2 3 4 5 6 7 8\n",
		"cpu  1 2 3 99999999999999999999x\ncpu0 1 2 3 4\n",
		"cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2",
	};

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct cpu_totals cpu = { .user_us = 5 };

		assert_int_equal(cpu_parse_stat(&cpu, texts[i], 100, NULL),
			-EBADMSG);
		assert_int_equal(cpu.user_us, 5);
	}
}

/* Some hypervisors set steal to 2^64 for a moment. */
static void a_number_that_is_too_large_is_unknown_alone(void **state)
{
	static const char text[] =
		"cpu  100 2 30 18446744073709551615 5 6 7 "
		"18446744073709551616\ncpu0 1 2 3 4\n";
	struct cpu_totals cpu = { 0 };

	(void)state;
	assert_int_equal(cpu_parse_stat(&cpu, text, 100, NULL), 0);
	assert_int_equal(cpu.user_us, 1000000);
	assert_true(cpu.idle_us == REPORT_UNKNOWN);
	assert_int_equal(cpu.softirq_us, 70000);
	assert_true(cpu.steal_us == REPORT_UNKNOWN);
}

static void interrupts_may_fill_more_than_is_read(void **state)
{
	struct tree tree;
	struct kernel_file file;
	struct cpu_totals cpu = { 0 };
	struct error err = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(CPU_STAT_MAX + 64);
	scoped_free char *scratch = xcalloc(1, CPU_STAT_MAX);

	(void)state;
	tree_make(&tree);
	buffer_text(&text, "cpu  1 2 3 4\ncpu0 1 2 3 4\nintr ");
	while (text.len <= CPU_STAT_MAX) {
		buffer_char(&text, '0');
	}
	tree_put(&tree, "stat", text.data);
	kernel_file_init(&file, tree.fd, "stat");
	cpu_read(&cpu, &file, scratch, &err);
	assert_int_equal(cpu.state, SOURCE_PRESENT);
	assert_int_equal(cpu.online, 1);
	kernel_file_fini(&file);
	tree_fini(&tree);
}

static void counts_the_cpus_of_a_list(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
	} cases[] = {
		{ "0\n", 1 },
		{ "0-127\n", 128 },
		{ "0-3,8,10-11\n", 7 },
		{ "0-3", 4 },
		{ "", 0 },
		{ "\n", 0 },
		{ "3-1\n", 0 },
		{ "0-\n", 0 },
		{ "0,\n", 0 },
		{ "0 1\n", 0 },
		{ "0-65535\n", 65536 },
		{ "0-65536\n", 0 },
		{ "0-65535,0-65535\n", 0 },
		{ "0-18446744073709551615\n", 0 },
		{ "2-18446744073709551615,0-9\n", 0 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(cpu_count_list(cases[i].text), cases[i].count);
	}
}

static void sets_the_state_and_keeps_the_possible_cpus(void **state)
{
	struct tree tree;
	struct kernel_file file;
	struct cpu_totals cpu = { .possible = 4 };
	struct error err = { 0 };
	scoped_free char *scratch = xcalloc(1, CPU_STAT_MAX);

	(void)state;
	tree_make(&tree);
	kernel_file_init(&file, tree.fd, "stat");
	cpu_read(&cpu, &file, scratch, &err);
	assert_int_equal(cpu.state, SOURCE_ABSENT);
	assert_int_equal(err.code, 0);
	kernel_file_init(&file, tree.fd, "stat");
	tree_put(&tree, "stat", "what\n");
	cpu_read(&cpu, &file, scratch, &err);
	assert_int_equal(cpu.state, SOURCE_ERROR);
	assert_string_equal(err.text, "stat: no 'cpu' line");
	tree_put(&tree, "stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\n");
	cpu_read(&cpu, &file, scratch, &err);
	assert_int_equal(cpu.state, SOURCE_PRESENT);
	assert_int_equal(cpu.possible, 4);
	assert_int_equal(cpu.user_us, 1000000 / sysconf(_SC_CLK_TCK));
	kernel_file_fini(&file);
	tree_fini(&tree);
}

static void keeps_a_decreasing_total_at_its_last_value(void **state)
{
	struct cpu_totals last = { .user_us = 10,
		.nice_us = REPORT_UNKNOWN,
		.idle_us = 100,
		.iowait_us = 50,
		.steal_us = 7 };
	struct cpu_totals now = { .user_us = 11,
		.nice_us = 3,
		.idle_us = 99,
		.iowait_us = 49,
		.steal_us = REPORT_UNKNOWN };

	(void)state;
	cpu_keep_monotonic(&now, &last);
	assert_int_equal(now.user_us, 11);
	assert_int_equal(now.nice_us, 3);
	assert_int_equal(now.idle_us, 100);
	assert_int_equal(now.iowait_us, 50);
	assert_true(now.steal_us == REPORT_UNKNOWN);
	assert_int_equal(last.user_us, 11);
	assert_int_equal(last.nice_us, 3);
	assert_int_equal(last.idle_us, 100);
	assert_int_equal(last.steal_us, 7);
}

/* A node that is a VM was live-migrated: its totals are another host's. */
static void a_deep_fall_of_a_total_is_a_restart_of_all(void **state)
{
	struct cpu_totals last = { .user_us = 90000000,
		.system_us = 5000000,
		.idle_us = 800000000,
		.steal_us = 7 };
	struct cpu_totals now = { .user_us = 86999999,
		.system_us = 4999999,
		.idle_us = 800000001,
		.steal_us = 6 };
	const struct cpu_totals first = now;

	(void)state;
	cpu_keep_monotonic(&now, &last);
	assert_memory_equal(&now, &first, sizeof(now));
	assert_memory_equal(&last, &first, sizeof(now));
	last.user_us = now.user_us + CPU_RESTART_US;
	cpu_keep_monotonic(&now, &last);
	assert_int_equal(now.user_us, first.user_us + CPU_RESTART_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_totals_to_microseconds),
		cmocka_unit_test(counts_cpus_with_gaps_and_missing_modes),
		cmocka_unit_test(rejects_text_the_kernel_never_writes),
		cmocka_unit_test(a_number_that_is_too_large_is_unknown_alone),
		cmocka_unit_test(interrupts_may_fill_more_than_is_read),
		cmocka_unit_test(counts_the_cpus_of_a_list),
		cmocka_unit_test(sets_the_state_and_keeps_the_possible_cpus),
		cmocka_unit_test(keeps_a_decreasing_total_at_its_last_value),
		cmocka_unit_test(a_deep_fall_of_a_total_is_a_restart_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
