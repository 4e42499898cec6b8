#include "aggregator/series/rates.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

/* Two reports 10 s apart; the test sets the counters of the second one. */
struct pair {
	struct report before, after;
	struct node_rates rates;
	struct vm_rates vms[8];
};

static struct pair make_pair(void)
{
	return (struct pair){ .before = sample_report(1, 100),
		.after = sample_report(2, 110) };
}

static void compute(struct pair *p)
{
	rates_between(&p->rates, p->vms, &p->before, &p->after);
}

static void fini(struct pair *p)
{
	report_fini(&p->before);
	report_fini(&p->after);
}

/* Shares of the 10 s in percent. A negative full means no full line, a negative
 * throttled no throttling lines. The first six cases were measured on real
 * kernels. */
static void contention_excludes_throttling(void **state)
{
	static const struct {
		const char *what;
		int some, full, throttled;
		double contention;
	} cases[] = {
		{ "one task, held by its quota", 81, 81, 81, 0 },
		{ "four tasks, held by their quota", 70, 70, 268, 0 },
		{ "two tasks, two cgroups, one CPU", 51, 51, 0, 0.51 },
		{ "eight tasks on four CPUs", 80, 2, 0, 0.80 },
		{ "both at once", 67, 61, 159, 0.06 },
		{ "idle", 0, 0, 0, 0 },
		{ "no full line, throttled", 70, -1, 268, 0 },
		{ "no full line, crowded", 80, -1, 0, 0.80 },
		{ "no cpu controller", 51, 51, -1, 0.51 },
		{ "PSI overshoots", 101, 0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t percent_us = 100000;
		struct pair p = make_pair();
		struct vm_pod vm = sample_vm("a", 1);

		vm.pressure.cpu.full_us =
			cases[i].full < 0 ? REPORT_UNKNOWN : 0;
		vm.throttled_us = cases[i].throttled < 0 ? REPORT_UNKNOWN : 0;
		sample_add_vms(&p.before, &vm, 1);
		vm.pressure.cpu.some_us = percent_us * (uint64_t)cases[i].some;
		if (cases[i].full >= 0) {
			vm.pressure.cpu.full_us =
				percent_us * (uint64_t)cases[i].full;
		}
		if (cases[i].throttled >= 0) {
			vm.throttled_us =
				percent_us * (uint64_t)cases[i].throttled;
		}
		vm.cpu_usage_us = 1000000;
		sample_add_vms(&p.after, &vm, 1);
		compute(&p);
		assert_near(p.vms[0].contention, cases[i].contention);
		assert_near(p.rates.contention, cases[i].contention);
		fini(&p);
	}
}

static void counts_busy_modes_once(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.after.cpu = (struct cpu_totals){ SOURCE_PRESENT, 4, 4, 1000000,
		2000000, 3000000, 40000000, 50000000, 4000000, 5000000,
		6000000 };
	compute(&p);
	assert_near(p.rates.used_cores, 1.5);
}

static void clamps_to_the_possible_range(void **state)
{
	struct pair p = make_pair();
	struct vm_pod vm = sample_vm("a", 1);

	(void)state;
	sample_add_vms(&p.before, &vm, 1);
	vm.cpu_usage_us = 70000000;
	sample_add_vms(&p.after, &vm, 1);
	p.after.cpu.user_us = 50000000;
	p.after.pressure.io.some_us = 10100000;
	compute(&p);
	assert_near(p.rates.used_cores, 4);
	assert_near(p.rates.io_pressure_some, 1);
	assert_near(p.vms[0].used_cores, 4);
	fini(&p);
}

static void ignores_idle_that_goes_back(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.before.cpu.idle_us = 90000000;
	p.before.cpu.iowait_us = 7000000;
	p.after.cpu.user_us = 20000000;
	compute(&p);
	assert_near(p.rates.used_cores, 2);
}

static void no_rate_across_a_counter_reset(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.before.cpu.user_us = 5;
	p.before.pressure.cpu.some_us = 5;
	p.before.pressure.memory.full_us = 5;
	compute(&p);
	assert_true(isnan(p.rates.used_cores));
	assert_true(isnan(p.rates.cpu_pressure_some));
	assert_true(isnan(p.rates.memory_pressure_full));
	assert_near(p.rates.memory_pressure_some, 0);
}

static void no_rate_if_one_mode_fell_and_others_rose_more(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.before.cpu.user_us = 5000000;
	p.after.cpu.system_us = 10000000;
	compute(&p);
	assert_true(isnan(p.rates.used_cores));
}

static void no_rate_across_a_reboot(void **state)
{
	struct pair p = make_pair();

	(void)state;
	(void)snprintf(p.after.boot_id, sizeof(p.after.boot_id), "boot-2");
	compute(&p);
	assert_int_equal(rates_span_us(&p.before, &p.after), 0);
	assert_true(isnan(p.rates.used_cores));
	assert_true(isnan(p.rates.cpu_pressure_some));
}

static void no_rate_back_in_time(void **state)
{
	struct pair p = make_pair();

	(void)state;
	assert_int_equal(rates_span_us(&p.before, &p.after), 10000000);
	assert_int_equal(rates_span_us(&p.after, &p.before), 0);
	assert_int_equal(rates_span_us(&p.after, &p.after), 0);
}

static void absent_files_make_unknown_rates(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.after.pressure.cpu.state = SOURCE_DISABLED;
	p.before.pressure.memory.state = SOURCE_ERROR;
	p.after.pressure.io.full_us = REPORT_UNKNOWN;
	p.after.cpu.state = SOURCE_ERROR;
	compute(&p);
	assert_true(isnan(p.rates.cpu_pressure_some));
	assert_true(isnan(p.rates.memory_pressure_some));
	assert_true(isnan(p.rates.io_pressure_full));
	assert_near(p.rates.io_pressure_some, 0);
	assert_true(isnan(p.rates.used_cores));
}

/* 3 cores wait half of the time, and 1 core never waits. */
static void weights_contention_by_used_cores(void **state)
{
	struct pair p = make_pair();
	struct vm_pod vms[3] = { sample_vm("a", 1), sample_vm("b", 2),
		sample_vm("c", 3) };

	(void)state;
	sample_add_vms(&p.before, vms, 3);
	vms[0].cpu_usage_us = 30000000;
	vms[0].pressure.cpu.some_us = 5000000;
	vms[1].cpu_usage_us = 10000000;
	vms[2].pressure.cpu.state = SOURCE_ABSENT;
	vms[2].cpu_usage_us = 40000000;
	sample_add_vms(&p.after, vms, 3);
	compute(&p);
	assert_near(p.rates.contention, 0.375);
	fini(&p);
}

static void without_vms_pressure_counts_only_on_a_busy_node(void **state)
{
	struct pair p = make_pair();

	(void)state;
	p.after.pressure.cpu.some_us = 8000000;
	p.after.cpu.user_us = 29000000;
	compute(&p);
	assert_near(p.rates.contention, 0.8);
	p.after.cpu.user_us = 27000000;
	compute(&p);
	assert_true(isnan(p.rates.contention));
	p.after.pressure.cpu.some_us = 400000;
	compute(&p);
	assert_near(p.rates.contention, 0);
	p.after.pressure.cpu.some_us = REPORT_UNKNOWN;
	compute(&p);
	assert_true(isnan(p.rates.contention));
}

static void vms_without_pressure_have_an_unknown_contention(void **state)
{
	struct pair p = make_pair();
	struct vm_pod vm = sample_vm("a", 1);

	(void)state;
	vm.pressure.cpu.state = SOURCE_ABSENT;
	sample_add_vms(&p.before, &vm, 1);
	sample_add_vms(&p.after, &vm, 1);
	compute(&p);
	assert_near(p.rates.cpu_pressure_some, 0);
	assert_true(isnan(p.rates.contention));
	p.after.cpu.user_us = 29000000;
	p.after.pressure.cpu.some_us = 8000000;
	compute(&p);
	assert_near(p.rates.contention, 0.8);
	fini(&p);
}

static void identifies_pods_by_uid_and_cgroup(void **state)
{
	struct pair p = make_pair();
	struct vm_pod was[3] = { sample_vm("a", 1), sample_vm("b", 2),
		sample_vm("c", 3) };
	struct vm_pod is[3] = { sample_vm("c", 3), sample_vm("a", 9),
		sample_vm("b", 2) };

	(void)state;
	sample_add_vms(&p.before, was, 3);
	is[0].cpu_usage_us = 10000000;
	is[1].cpu_usage_us = 20000000; /* a new cgroup: a new series */
	is[2].cpu_usage_us = 30000000;
	sample_add_vms(&p.after, is, 3);
	compute(&p);
	assert_near(p.vms[0].used_cores, 1);
	assert_true(isnan(p.vms[1].used_cores));
	assert_near(p.vms[2].used_cores, 3);
	fini(&p);
}

static void a_missing_working_set_makes_the_sum_unknown(void **state)
{
	struct pair p = make_pair();
	struct vm_pod vms[2] = { sample_vm("a", 1), sample_vm("b", 2) };
	struct node_load load;

	(void)state;
	vms[0].working_set_bytes = 70;
	sample_add_vms(&p.after, vms, 2);
	compute(&p);
	node_load_init(&load);
	rates_fill_load(&load, &p.after, &p.rates);
	assert_true(isnan(load.memory_working_set_bytes));
	p.after.vms[1].working_set_bytes = 30;
	rates_fill_load(&load, &p.after, &p.rates);
	assert_near(load.memory_working_set_bytes, 100);
	assert_near(load.memory_total_bytes, 1000);
	assert_near(load.cpu_cores, 4);
	fini(&p);
}

/* A report with pods of consecutive inodes. */
static struct report report_of_pods(uint64_t first_inode, size_t count)
{
	struct report r = sample_report(1, 100);

	r.vms = xcalloc(count, sizeof(*r.vms));
	r.vm_count = count;
	for (size_t i = 0; i < count; i++) {
		r.vms[i] = sample_vm("a", first_inode + i);
	}
	return r;
}

static void finds_a_pod_behind_many_new_ones(void **state)
{
	struct report before = report_of_pods(1000, 256);
	struct vm_cursor cursor = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 255; i++) {
		struct vm_pod vm = sample_vm("a", 5000 + i);

		assert_null(rates_find_vm(&before, &vm, &cursor));
	}
	assert_non_null(rates_find_vm(&before, &before.vms[255], &cursor));
	report_fini(&before);
}

/* An agent that names 2,048 other pods each time would block the event loop. */
static void limits_the_cost_of_a_report(void **state)
{
	struct report before = report_of_pods(1, REPORT_VMS_MAX);
	struct vm_cursor cursor = { 0 };

	(void)state;
	for (size_t i = 0; i < REPORT_VMS_MAX; i++) {
		struct vm_pod vm = sample_vm("a", 100000 + i);

		assert_null(rates_find_vm(&before, &vm, &cursor));
	}
	assert_in_range(cursor.steps, REPORT_VMS_MAX, 200000);
	report_fini(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contention_excludes_throttling),
		cmocka_unit_test(counts_busy_modes_once),
		cmocka_unit_test(clamps_to_the_possible_range),
		cmocka_unit_test(ignores_idle_that_goes_back),
		cmocka_unit_test(no_rate_across_a_counter_reset),
		cmocka_unit_test(no_rate_if_one_mode_fell_and_others_rose_more),
		cmocka_unit_test(no_rate_across_a_reboot),
		cmocka_unit_test(no_rate_back_in_time),
		cmocka_unit_test(absent_files_make_unknown_rates),
		cmocka_unit_test(weights_contention_by_used_cores),
		cmocka_unit_test(
			without_vms_pressure_counts_only_on_a_busy_node),
		cmocka_unit_test(
			vms_without_pressure_have_an_unknown_contention),
		cmocka_unit_test(identifies_pods_by_uid_and_cgroup),
		cmocka_unit_test(a_missing_working_set_makes_the_sum_unknown),
		cmocka_unit_test(finds_a_pod_behind_many_new_ones),
		cmocka_unit_test(limits_the_cost_of_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
