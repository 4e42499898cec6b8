#include "aggregator/series/pod_series.h"

#include "lib/memory.h"
#include "tests/support/random.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

enum { PODS = 20, EVERY = 5, INTERVAL_S = 2, RUN = 2000 };

/* The share of a mean that fades with 60 s and that the values of one turn
 * have: 1 - exp(-10 / 60). A mean of values that are read in turn differs from
 * one of values that are read each time by no more. */
static const double turn_share = 0.154;

/* An agent's view of a machine, and what the aggregator makes of it. */
struct view {
	bool in_turn;
	struct report newest;
	struct pod_series series;
	struct node_rates rates;
};

struct machine {
	uint64_t seq;
	struct vm_pod pods[PODS]; /* the kernel's totals */
	struct view whole, turns;
};

static int setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	for (size_t i = 0; i < PODS; i++) {
		char uid[REPORT_UID_MAX];
		struct vm_pod *vm = &m->pods[i];

		(void)snprintf(uid, sizeof(uid), "pod-%zu", i);
		*vm = sample_vm(uid, i + 1);
		vm->pressure.cpu = (struct psi){ SOURCE_PRESENT, 0, 0 };
		vm->pressure.memory = (struct psi){ SOURCE_PRESENT, 0, 0 };
		vm->pressure.io = (struct psi){ SOURCE_PRESENT, 0, 0 };
		vm->anon_shmem_bytes = 50;
		vm->working_set_bytes = 80;
	}
	m->turns.in_turn = true;
	report_init(&m->whole.newest);
	report_init(&m->turns.newest);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	report_fini(&m->whole.newest);
	report_fini(&m->turns.newest);
	pod_series_fini(&m->whole.series);
	pod_series_fini(&m->turns.series);
	free(m);
	return 0;
}

/* As the agent leaves out what it did not read. */
static void leave_out(struct vm_pod *vm)
{
	struct vm_pod unread;

	vm_pod_init(&unread);
	vm->pressure.memory = unread.pressure.memory;
	vm->pressure.io = unread.pressure.io;
	vm->memory_current_bytes = REPORT_UNKNOWN;
	vm->anon_shmem_bytes = REPORT_UNKNOWN;
	vm->working_set_bytes = REPORT_UNKNOWN;
}

static void add(struct view *view, const struct machine *m, double at_s)
{
	struct report r = sample_report(m->seq, at_s);
	struct vm_rates rates[PODS];
	struct report nothing;

	sample_add_vms(&r, m->pods, PODS);
	r.slow_every = view->in_turn ? EVERY : 0;
	for (size_t i = 0; i < PODS; i++) {
		if (view->in_turn && m->seq > 1 &&
			m->seq % EVERY != i % EVERY) {
			leave_out(&r.vms[i]);
		}
	}
	report_init(&nothing);
	rates_between(&view->rates, rates,
		m->seq > 1 ? &view->newest : &nothing, &r);
	pod_series_move(&view->series, &view->newest, &r, rates, m->seq > 1);
	report_fini(&view->newest);
	view->newest = r;
}

/* Both agents read the machine. */
static void report(struct machine *m)
{
	double at_s = 100 + INTERVAL_S * (double)m->seq++;

	add(&m->whole, m, at_s);
	add(&m->turns, m, at_s);
}

static struct vm_load load_of(const struct view *view, size_t pod)
{
	struct vm_load load;

	pod_series_fill(&load, &view->series, &view->newest, pod);
	return load;
}

static double pressure_of(const struct view *view, size_t pod)
{
	double shown = load_of(view, pod).memory_pressure;

	return isnan(shown) ? 0 : shown;
}

/* The first rate of a pod is its mean, whatever the time: 0 here. */
static void be_quiet(struct machine *m)
{
	for (int i = 0; i < 2 * EVERY; i++) {
		report(m);
	}
}

static void wait_for_memory(struct machine *m, size_t pod, double share)
{
	m->pods[pod].pressure.memory.full_us +=
		(uint64_t)(share * INTERVAL_S * 1e6);
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6)) {
		fail_msg("%g is not %g", a, b);
	}
}

/* Neither a 0 while it is not read, nor more than 1 when it is. */
static void a_steady_pressure_stays_what_it_is_between_readings(void **state)
{
	struct machine *m = *state;

	report(m);
	assert_true(isnan(load_of(&m->turns, 3).memory_pressure));
	for (int i = 0; i < 40; i++) {
		wait_for_memory(m, 3, 0.4);
		report(m);
		if (i >= EVERY) {
			assert_near(pressure_of(&m->turns, 3), 0.4);
		}
	}
	/* A counter shows the last reading. */
	assert_int_equal(m->turns.newest.vms[3].pressure.memory.state,
		SOURCE_PRESENT);
	assert_in_range(m->turns.newest.vms[3].pressure.memory.full_us,
		m->pods[3].pressure.memory.full_us - UINT64_C(4) * 800000,
		m->pods[3].pressure.memory.full_us);
}

static void sudden_pressure_of_a_pod_shows_within_five_reports(void **state)
{
	struct machine *m = *state;

	be_quiet(m);
	for (size_t pod = 0; pod < PODS; pod++) {
		int reports = 0;

		while (pressure_of(&m->turns, pod) <= 0) {
			wait_for_memory(m, pod, 1);
			report(m);
			reports++;
			assert_true(reports <= EVERY);
		}
		/* All of the time that it waited, and nothing else. */
		assert_true(pressure_of(&m->turns, pod) <=
			1 - exp(-INTERVAL_S * reports / 60.0) + 1e-6);
	}
}

/* Contention, by which the scheduler decides, is not touched at all. */
static void readings_in_turn_give_the_rates_of_whole_readings(void **state)
{
	struct machine *m = *state;
	uint64_t seed = 7;
	double sum = 0;

	be_quiet(m);
	for (int i = 0; i < RUN; i++) {
		for (size_t p = 0; p < PODS; p++) {
			struct vm_pod *vm = &m->pods[p];
			unsigned int most = random_pick(&seed, 2000001);

			vm->cpu_usage_us += random_pick(&seed, 2000001);
			vm->pressure.cpu.some_us += most;
			vm->pressure.cpu.full_us +=
				random_pick(&seed, most + 1);
			vm->throttled_us += random_pick(&seed, most + 1);
			wait_for_memory(m, p, random_pick(&seed, 101) / 100.0);
		}
		report(m);
		assert_true(
			m->turns.rates.contention == m->whole.rates.contention);
		for (size_t p = 0; p < PODS; p++) {
			struct vm_load whole = load_of(&m->whole, p);
			struct vm_load turns = load_of(&m->turns, p);
			double off = pressure_of(&m->turns, p) -
				pressure_of(&m->whole, p);

			assert_true(turns.contention == whole.contention);
			assert_true(turns.used_cores == whole.used_cores);
			assert_near(turns.memory_bytes, whole.memory_bytes);
			assert_true(fabs(off) <= turn_share);
			sum += off;
		}
	}
	assert_true(fabs(sum / (RUN * PODS)) < 0.002);
}

/* The agent of the view stops to read them. */
static void values_that_are_not_read_any_more_become_unknown(void **state)
{
	struct machine *m = *state;
	struct vm_load load;

	for (int i = 0; i < 2 * EVERY; i++) {
		wait_for_memory(m, 3, 0.4);
		report(m);
	}
	for (size_t i = 0; i < PODS; i++) {
		leave_out(&m->pods[i]);
	}
	/* 3 turns, as a node is fresh for 3 intervals. */
	for (int i = 0; i < 3 * EVERY - EVERY; i++) {
		report(m);
	}
	load = load_of(&m->turns, 3);
	assert_near(load.memory_pressure, 0.4);
	assert_near(load.memory_bytes, 50);
	for (int i = 0; i < EVERY; i++) {
		report(m);
	}
	load = load_of(&m->turns, 3);
	assert_true(isnan(load.memory_pressure));
	assert_true(isnan(load.memory_bytes));
	assert_int_equal(m->turns.newest.vms[3].pressure.memory.state,
		SOURCE_UNKNOWN);
}

/* Its turn came, so the last figure holds no longer. */
static void memory_that_cannot_be_read_is_unknown_at_once(void **state)
{
	struct machine *m = *state;

	report(m);
	for (size_t i = 0; i < PODS; i++) {
		m->pods[i].anon_shmem_bytes = REPORT_UNKNOWN;
		m->pods[i].working_set_bytes = REPORT_UNKNOWN;
		m->pods[i].memory_current_bytes = REPORT_UNKNOWN;
	}
	for (int i = 0; i < EVERY; i++) {
		report(m);
	}
	for (size_t i = 0; i < PODS; i++) {
		assert_true(isnan(load_of(&m->turns, i).memory_bytes));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_steady_pressure_stays_what_it_is_between_readings),
		TEST(sudden_pressure_of_a_pod_shows_within_five_reports),
		TEST(readings_in_turn_give_the_rates_of_whole_readings),
		TEST(values_that_are_not_read_any_more_become_unknown),
		TEST(memory_that_cannot_be_read_is_unknown_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
