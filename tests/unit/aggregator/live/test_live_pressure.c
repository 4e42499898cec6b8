/* The live table shows which VM waits for memory and I/O. */
#include "aggregator/live/live.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t second = 1000000;

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6)) {
		fail_msg("%g is not %g", a, b);
	}
}

static int setup(void **state)
{
	*state = live_new(42, NULL);
	return 0;
}

static int teardown(void **state)
{
	live_free(*state);
	return 0;
}

/* Adds the report with at_s of both clocks, and frees it. */
static void add(struct live *live, struct report report, uint64_t at_s)
{
	struct live_sample sample = { "n1", run, &report,
		(int64_t)(at_s * second), 0 };

	assert_int_equal(live_add(live, &sample, at_s * second, NULL), 0);
	report_fini(&report);
}

static struct node_load load_at(const struct live *live, uint64_t now_s)
{
	struct node_load load;

	live_node_load(&load, live_find(live, "n1"), now_s * second);
	return load;
}

/* A node that swaps, and a VM that waits for memory in a share of the time. */
static struct report swapping_report(double at_s, double share)
{
	struct report r = sample_report((uint64_t)at_s, at_s);
	struct vm_pod vm = sample_vm("a", 1);
	uint64_t waited_us = (uint64_t)((at_s - 100) * share * 1e6);

	r.pressure.memory.full_us = waited_us;
	r.pressure.io.full_us = waited_us / 2;
	r.memory.swap_in_bytes = (uint64_t)(at_s - 100) * 4096;
	vm.pressure.memory = (struct psi){ SOURCE_PRESENT, 0, waited_us };
	vm.pressure.io = (struct psi){ SOURCE_PRESENT, 0, waited_us / 2 };
	vm.anon_shmem_bytes = 500;
	vm.swap_bytes = share > 0 ? 300 : 0;
	sample_add_vms(&r, &vm, 1);
	return r;
}

static void shows_who_waits_for_memory_and_io_in_a_minute(void **state)
{
	struct node_load load;

	for (uint64_t at = 100; at <= 160; at += 2) {
		add(*state, swapping_report((double)at, 0.4), at);
	}
	load = load_at(*state, 160);
	assert_near(load.memory_pressure_full_60s, 0.4);
	assert_near(load.io_pressure_full_60s, 0.2);
	assert_near(load.memory_swap_in_bytes_60s, 4096);
	assert_near(load.vms[0].memory_pressure, 0.4);
	assert_near(load.vms[0].io_pressure, 0.2);
	assert_near(load.vms[0].swap_bytes, 300);
	node_load_fini(&load);
}

/* Nothing of the figures of a VM is sent while it does not wait. */
static void a_vm_that_does_not_wait_shows_no_pressure(void **state)
{
	struct node_load load;

	for (uint64_t at = 100; at <= 160; at += 2) {
		add(*state, swapping_report((double)at, 0), at);
	}
	load = load_at(*state, 160);
	assert_near(load.memory_pressure_full_60s, 0);
	assert_true(isnan(load.vms[0].memory_pressure));
	assert_true(isnan(load.vms[0].io_pressure));
	assert_true(isnan(load.vms[0].swap_bytes));
	node_load_fini(&load);
}

/* A share of 1 for 60 s counts 1 - 1/e; then it fades. */
static void the_pressure_of_a_vm_fades_within_minutes(void **state)
{
	struct report r = swapping_report(100, 0);
	struct node_load load;
	double waited[2] = { 0 };

	add(*state, r, 100);
	for (uint64_t at = 102; at <= 400; at += 2) {
		uint64_t us = at < 162 ? (at - 102) * second : 60 * second;

		r = swapping_report((double)at, 0);
		r.vms[0].pressure.memory.full_us = us;
		add(*state, r, at);
		if (at == 162) {
			load = load_at(*state, at);
			waited[0] = load.vms[0].memory_pressure;
			node_load_fini(&load);
		}
	}
	load = load_at(*state, 400);
	waited[1] = load.vms[0].memory_pressure;
	node_load_fini(&load);
	assert_true(fabs(waited[0] - 0.632) < 0.001);
	assert_true(fabs(waited[1] - 0.632 * exp(-238 / 60.0)) < 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			shows_who_waits_for_memory_and_io_in_a_minute, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_vm_that_does_not_wait_shows_no_pressure, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			the_pressure_of_a_vm_fades_within_minutes, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
