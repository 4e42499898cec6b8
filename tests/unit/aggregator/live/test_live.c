#include "aggregator/live/live.h"

#include "aggregator/live/identity.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <errno.h>
#include <stdlib.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 'b' };
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

/* Adds the report with at_s of this machine's clock, and frees it. */
static void add(struct live *live, const uint8_t *run_id, struct report report,
	double at_s)
{
	struct live_sample sample = { "n1", run_id, &report,
		(int64_t)(at_s * 1e6), 0 };

	assert_int_equal(live_add(live, &sample, (uint64_t)(at_s * 1e6), NULL),
		0);
	report_fini(&report);
}

static struct node_load load_at(const struct live *live, uint64_t now_s)
{
	struct node_load load;

	live_node_load(&load, live_find(live, "n1"), now_s * second);
	return load;
}

static double cores_at(const struct live *live, uint64_t now_s)
{
	struct node_load load = load_at(live, now_s);
	double cores = load.cpu_used_cores;

	node_load_fini(&load);
	return cores;
}

static void has_rates_from_the_second_sample_on(void **state)
{
	struct node_load load;

	add(*state, run_a, steady_report(1, 100, 1.5), 1000);
	assert_true(isnan(cores_at(*state, 1000)));
	add(*state, run_a, steady_report(2, 102, 1.5), 1002);
	load = load_at(*state, 1003);
	assert_string_equal(load.name, "n1");
	assert_int_equal(load.age_us, second);
	assert_near(load.cpu_cores, 4);
	assert_near(load.cpu_used_cores, 1.5);
	assert_near(load.cpu_used_cores_10s, 1.5);
	assert_near(load.cpu_used_cores_1h, 1.5);
	assert_near(load.cpu_stdev_cores_5m, 0);
	assert_near(load.memory_used_bytes_15m, 400);
	assert_near(load.memory_working_set_bytes, 0);
	assert_true(fabs(load.cpu_p95_cores_1h - 1.5) <= 4 / 128.0);
	assert_true(fabs(load.cpu_p95_cores_1d - 1.5) <= 4 / 128.0);
	node_load_fini(&load);
}

static void a_replay_neither_replaces_nor_refreshes_a_node(void **state)
{
	struct node_load load;
	uint64_t revision;

	add(*state, run_a, steady_report(9, 116, 2), 1016);
	add(*state, run_a, steady_report(10, 118, 2), 1018);
	revision = live_revision(*state);
	add(*state, run_a, steady_report(3, 104, 0), 1004);
	/* Delayed on the network too, so that it looks newer. */
	add(*state, run_a, steady_report(4, 106, 0), 1030);
	load = load_at(*state, 1040);
	assert_int_equal(load.age_us, 22 * second);
	assert_near(load.cpu_used_cores, 2);
	node_load_fini(&load);
	assert_int_equal(live_revision(*state), revision);
}

static void a_replay_of_an_earlier_boot_does_not_replace_a_node(void **state)
{
	struct report old = steady_report(500, 9000, 3);

	add(*state, run_a, steady_report(1, 100, 1), 1000);
	add(*state, run_a, steady_report(2, 102, 1), 1002);
	(void)snprintf(old.boot_id, sizeof(old.boot_id), "boot-0");
	add(*state, run_b, old, 990);
	assert_near(cores_at(*state, 1002), 1);
}

static void a_backlog_fills_the_windows_once(void **state)
{
	struct node_load load;

	/* After an outage the newest report comes first ... */
	add(*state, run_a, steady_report(100, 300, 1), 1000);
	add(*state, run_a, steady_report(101, 302, 1), 1002);
	/* ... and the backlog follows in order, twice. */
	for (uint64_t turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < 50; i++) {
			struct report r =
				sample_report(i + 1, 200 + 2 * (double)i);

			r.cpu.user_us = i * 6000000; /* 3 cores */
			add(*state, run_a, r, 900 + 2 * (double)i);
		}
	}
	load = load_at(*state, 1002);
	assert_near(load.cpu_used_cores, 1);
	/* 292 to 298 at 3 cores, 300 to 302 at 1; a gap in between. */
	assert_near(load.cpu_used_cores_10s, 2.5);
	/* 98 s at 3 cores, 2 s at 1. */
	assert_near(load.cpu_used_cores_15m, (98 * 3.0 + 2) / 100);
	node_load_fini(&load);
}

/* After an outage of the aggregator, nothing is interpolated, and the agent's
 * backlog fills the gap once. */
static void a_gap_stays_until_the_backlog_fills_it(void **state)
{
	struct node_load load;
	struct report after = sample_report(101, 302);

	add(*state, run_a, steady_report(1, 100, 1), 800);
	add(*state, run_a, steady_report(2, 102, 1), 802);
	after.cpu.user_us = 102000000 + 98 * 3000000 + 2 * 1000000;
	add(*state, run_a, after, 1002);
	load = load_at(*state, 1002);
	assert_true(isnan(load.cpu_used_cores));
	assert_true(isnan(load.cpu_used_cores_10s));
	assert_near(load.cpu_used_cores_15m, 1);
	node_load_fini(&load);
	for (uint64_t turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < 50; i++) {
			struct report r =
				sample_report(i + 1, 100 + 4 * (double)i);

			r.cpu.user_us = 102000000 - 3000000 * 2 + i * 12000000;
			add(*state, run_a, r, 800 + 4 * (double)i);
		}
	}
	load = load_at(*state, 1002);
	/* 100 to 102 at 1 core as before, 102 to 296 at 3. */
	assert_near(load.cpu_used_cores_15m, (2 + 194 * 3.0) / 196);
	assert_true(isnan(load.cpu_used_cores));
	node_load_fini(&load);
}

static void ignores_wall_clocks(void **state)
{
	struct report before = steady_report(1, 100, 2);
	struct report after = steady_report(2, 102, 2);

	before.wall_us = 2000000000000000;
	after.wall_us = 1;
	add(*state, run_a, before, 1000);
	add(*state, run_a, after, 1002);
	assert_near(cores_at(*state, 1002), 2);
}

/* The kernel counts on. */
static void a_restarted_agent_continues_rates_and_windows(void **state)
{
	struct node_load load;

	add(*state, run_a, steady_report(1, 100, 1), 1000);
	add(*state, run_a, steady_report(2, 102, 1), 1002);
	add(*state, run_b, steady_report(1, 104, 1), 1004);
	load = load_at(*state, 1004);
	assert_int_equal(load.age_us, 0);
	assert_near(load.cpu_used_cores, 1);
	assert_near(load.cpu_used_cores_5m, 1);
	node_load_fini(&load);
	add(*state, run_b, steady_report(2, 106, 1), 1006);
	assert_near(cores_at(*state, 1006), 1);
}

/* CPU time is counted in ticks of 10 ms. */
static void a_second_agents_report_right_after_the_first_has_no_rates(
	void **state)
{
	add(*state, run_a, steady_report(1, 100, 1), 1000);
	add(*state, run_a, steady_report(2, 102, 1), 1002);
	add(*state, run_b, steady_report(1, 102.01, 1), 1002.01);
	assert_true(isnan(cores_at(*state, 1003)));
}

/* A reboot of a node without a readable boot id looks the same. */
static void a_clock_that_ran_ahead_ends_with_its_process(void **state)
{
	struct node_load load;

	add(*state, run_a, steady_report(1, 100, 2), 1000);
	add(*state, run_a, steady_report(2, 900000, 2), 1002);
	add(*state, run_b, steady_report(1, 104, 1), 1004);
	add(*state, run_b, steady_report(2, 106, 1), 1006);
	load = load_at(*state, 1006);
	assert_int_equal(load.age_us, 0);
	assert_near(load.cpu_used_cores, 1);
	assert_near(load.cpu_used_cores_10s, 1);
	assert_near(load.cpu_used_cores_1h, 1);
	node_load_fini(&load);
}

static void a_reboot_clears_the_windows(void **state)
{
	struct report r = steady_report(1, 20, 3);
	struct node_load load;

	add(*state, run_a, steady_report(1, 100, 1), 1000);
	add(*state, run_a, steady_report(2, 102, 1), 1002);
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "boot-2");
	add(*state, run_b, r, 1060);
	load = load_at(*state, 1060);
	assert_true(isnan(load.cpu_used_cores));
	assert_true(isnan(load.cpu_used_cores_5m));
	node_load_fini(&load);
	r = steady_report(2, 22, 3);
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "boot-2");
	add(*state, run_b, r, 1062);
	assert_near(cores_at(*state, 1062), 3);
}

static void a_counter_reset_is_a_gap(void **state)
{
	add(*state, run_a, steady_report(1, 100, 3), 1000);
	add(*state, run_a, steady_report(2, 102, 1), 1002);
	assert_true(isnan(cores_at(*state, 1002)));
}

static struct report with_vms(uint64_t seq, double at_s,
	const struct vm_pod *vms, size_t count)
{
	struct report r = steady_report(seq, at_s, 1);

	sample_add_vms(&r, vms, count);
	return r;
}

/* Schedulers get the same figures. */
static void names_a_pod_on_its_own_node_only(void **state)
{
	struct identities *identities = identities_new();
	struct live *live = live_new(42, identities);
	struct vm_pod vms[2] = { sample_vm("a", 1), sample_vm("b", 2) };
	struct node_load load;

	(void)state;
	identities_put(identities, "a",
		&(struct identity){ "ns", "own", "u", "n1" });
	identities_put(identities, "b",
		&(struct identity){ "ns", "other", "u", "n2" });
	add(live, run_a, with_vms(1, 100, vms, 2), 1000);
	load = load_at(live, 1000);
	assert_int_equal(load.vm_count, 2);
	assert_string_equal(load.vms[0].name, "own");
	assert_string_equal(load.vms[0].namespace, "ns");
	assert_string_equal(load.vms[1].pod_uid, "b");
	assert_null(load.vms[1].name);
	assert_null(load.vms[1].namespace);
	node_load_fini(&load);
	live_free(live);
	identities_free(identities);
}

static void follows_pods_and_drops_those_that_end(void **state)
{
	struct vm_pod vms[2] = { sample_vm("a", 1), sample_vm("b", 2) };
	struct vm_pod back;
	struct node_load load;

	add(*state, run_a, with_vms(1, 100, vms, 2), 1000);
	vms[0].cpu_usage_us = 1000000;
	vms[1].cpu_usage_us = 3000000;
	add(*state, run_a, with_vms(2, 102, vms, 2), 1002);
	load = load_at(*state, 1002);
	assert_int_equal(load.vm_count, 2);
	assert_string_equal(load.vms[1].pod_uid, "b");
	assert_near(load.vms[0].used_cores, 0.5);
	assert_near(load.vms[1].used_cores_5m, 1.5);
	node_load_fini(&load);
	add(*state, run_a, with_vms(3, 104, vms + 1, 1), 1004);
	back = sample_vm("a", 7); /* the same pod in a new cgroup */
	add(*state, run_a, with_vms(4, 106, &back, 1), 1006);
	load = load_at(*state, 1006);
	assert_int_equal(load.vm_count, 1);
	assert_true(isnan(load.vms[0].used_cores));
	assert_true(isnan(load.vms[0].used_cores_5m));
	node_load_fini(&load);
}

static void keeps_figures_that_only_every_fifth_report_has(void **state)
{
	struct vm_pod vm = sample_vm("a", 1);
	struct node_load load;

	add(*state, run_a, with_vms(1, 100, &vm, 1), 1000);
	load = load_at(*state, 1000);
	assert_near(load.vms[0].memory_bytes, 100);
	assert_true(isnan(load.memory_working_set_bytes));
	node_load_fini(&load);
	vm.working_set_bytes = 80;
	vm.anon_shmem_bytes = 60;
	vm.hugetlb_count = 1;
	vm.hugetlb[0] = (struct hugetlb_use){ 2 << 20, 4 << 20 };
	add(*state, run_a, with_vms(2, 102, &vm, 1), 1002);
	vm.working_set_bytes = REPORT_UNKNOWN;
	vm.anon_shmem_bytes = REPORT_UNKNOWN;
	vm.hugetlb_count = 0;
	add(*state, run_a, with_vms(3, 104, &vm, 1), 1004);
	load = load_at(*state, 1004);
	assert_near(load.vms[0].memory_bytes, 60 + (4 << 20));
	assert_near(load.memory_working_set_bytes, 80);
	node_load_fini(&load);
}

static void accepts_a_report_with_a_duplicate_pod(void **state)
{
	struct vm_pod vms[2] = { sample_vm("a", 1), sample_vm("a", 1) };

	add(*state, run_a, with_vms(1, 100, vms, 2), 1000);
	add(*state, run_a, with_vms(2, 102, vms, 2), 1002);
	add(*state, run_a, with_vms(3, 104, vms, 1), 1004);
	add(*state, run_a, with_vms(4, 106, vms, 2), 1006);
	add(*state, run_a, with_vms(5, 108, vms, 2), 1008);
	assert_near(cores_at(*state, 1008), 1);
}

static void steps_through_nodes_by_revision(void **state)
{
	struct report r = steady_report(1, 100, 1);
	static const char *const names[] = { "a", "b", "c" };
	const struct live_node *node;

	for (size_t i = 0; i < 3; i++) {
		struct live_sample s = { names[i], run_a, &r, 0, 0 };

		assert_int_equal(live_add(*state, &s, 0, NULL), 0);
	}
	r = steady_report(2, 102, 1);
	assert_int_equal(
		live_add(*state, &(struct live_sample){ "a", run_a, &r, 0, 0 },
			0, NULL),
		0);
	node = live_after(*state, 1);
	assert_string_equal(live_node_name(node), "b");
	node = live_next(live_next(node));
	assert_string_equal(live_node_name(node), "a");
	assert_int_equal(live_node_revision(node), 4);
	assert_null(live_next(node));
	assert_null(live_after(*state, 4));
	assert_int_equal(live_count(*state), 3);
	assert_int_equal(live_epoch(*state), 42);
}

static void drops_lost_nodes_only(void **state)
{
	struct report r = steady_report(1, 100, 1);
	char name[16];
	struct live_sample s = { name, run_a, &r, 1000000, 0 };

	for (int i = 0; i < LIVE_NODES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		s.peer = (uint64_t)i + 1;
		assert_int_equal(live_add(*state, &s, second, NULL), 0);
	}
	s.peer = 0;
	(void)snprintf(name, sizeof(name), "more");
	assert_int_equal(live_add(*state, &s, 200 * second, NULL), -ENOSPC);
	assert_int_equal(live_add(*state, &s, 400 * second, NULL), 0);
	assert_null(live_find(*state, "n0"));
	assert_non_null(live_find(*state, "n1"));
	assert_int_equal(live_count(*state), LIVE_NODES_MAX);
}

/* The first peer has one node and reports twice. */
static void invented_names_keep_no_node_out(void **state)
{
	struct report r = steady_report(1, 100, 1);
	char name[16] = "real";
	struct live_sample s = { name, run_a, &r, 1000000, 1 };

	assert_int_equal(live_add(*state, &s, second, NULL), 0);
	s.peer = 666;
	for (int i = 0; i < LIVE_NODES_MAX + 100; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(live_add(*state, &s, second, NULL), 0);
	}
	(void)snprintf(name, sizeof(name), "new");
	s.peer = 2;
	assert_int_equal(live_add(*state, &s, second, NULL), 0);
	assert_non_null(live_find(*state, "real"));
	assert_non_null(live_find(*state, "new"));
	assert_int_equal(live_count(*state), LIVE_NODES_MAX);
}

/* A malicious report: each pod is in it twice. */
static struct report duplicates_report(uint64_t turn, double at_s, size_t count)
{
	struct report r = steady_report(turn, at_s, 1);
	struct vm_pod vms[200];
	char uid[32];

	for (size_t i = 0; i < 2 * count; i++) {
		(void)snprintf(uid, sizeof(uid), "p%zu", i % count);
		vms[i] = sample_vm(uid, i % count);
		vms[i].cpu_usage_us = turn * 1000000;
	}
	sample_add_vms(&r, vms, 2 * count);
	return r;
}

static void drops_duplicate_pods(void **state)
{
	static const size_t counts[] = { 1, 100 };
	struct vm_load load;

	for (size_t c = 0; c < count_of(counts); c++) {
		double at_s = 100 + 10 * (double)c;

		add(*state, run_a, duplicates_report(1, at_s, counts[c]),
			900 + at_s);
		add(*state, run_a, duplicates_report(2, at_s + 2, counts[c]),
			902 + at_s);
		assert_int_equal(live_node_vms(live_find(*state, "n1")),
			counts[c]);
		live_node_vm(&load, live_find(*state, "n1"), counts[c] - 1);
		assert_near(load.used_cores, 0.5);
	}
}

/* Two hours of reports at 10 s: busy and idle in turn, with one pod. */
static struct report varied_report(uint64_t i)
{
	struct report r = sample_report(i + 1, 100 + 10 * (double)i);
	struct vm_pod vm = sample_vm("p1", 7);

	r.cpu.user_us = 0;
	for (uint64_t k = 0; k < i; k++) {
		r.cpu.user_us += 1000000 * (k % 37);
	}
	r.memory.available_bytes = 600 - i % 11;
	vm.cpu_usage_us = r.cpu.user_us / 2;
	sample_add_vms(&r, &vm, 1);
	return r;
}

enum { WINDOWS = 9 };

static void read_windows(double out[WINDOWS], const struct live *live,
	uint64_t now_s)
{
	struct node_load load = load_at(live, now_s);
	const double figures[WINDOWS] = { load.cpu_used_cores_5m,
		load.cpu_used_cores_15m, load.cpu_used_cores_1h,
		load.cpu_stdev_cores_15m, load.cpu_stdev_cores_1h,
		load.cpu_p95_cores_1h, load.memory_used_bytes_15m,
		load.memory_stdev_bytes_15m, load.vms[0].used_cores_5m };

	memcpy(out, figures, sizeof(figures));
	node_load_fini(&load);
}

static void assert_same_windows(const struct live *a, const struct live *b,
	uint64_t now_s)
{
	double x[WINDOWS], y[WINDOWS];

	read_windows(x, a, now_s);
	read_windows(y, b, now_s);
	for (size_t i = 0; i < WINDOWS; i++) {
		assert_near(x[i] / (1 + fabs(x[i])), y[i] / (1 + fabs(x[i])));
	}
}

static void merges_stored_history_under_newer_samples(void **state)
{
	enum { ALL = 720, STORED = 700 };
	struct live *whole = live_new(1, NULL);
	struct live *older = live_new(0, NULL);
	struct report stored = varied_report(STORED);
	struct live_sample sample = { "n1", run_a, &stored,
		8000 * (int64_t)second, 0 };

	for (uint64_t i = 0; i <= ALL; i++) {
		double at_s = 1000 + 10 * (double)i;

		add(whole, run_a, varied_report(i), at_s);
		if (i <= STORED) {
			add(older, run_a, varied_report(i), at_s);
		}
		if (i == STORED) {
			assert_int_equal(live_add_stored(*state, &sample,
						 (uint64_t)sample.at_us, NULL),
				0);
		}
		if (i > STORED) {
			add(*state, run_a, varied_report(i), at_s);
		}
	}
	/* The agent got no Ack for these. */
	for (uint64_t i = STORED - 20; i < STORED; i++) {
		add(*state, run_a, varied_report(i), 1000 + 10 * (double)i);
	}
	live_merge_history(*state, older, "n1");
	live_merge_history(*state, older, "n2");
	assert_same_windows(whole, *state, 1000 + 10 * ALL);
	report_fini(&stored);
	live_free(whole);
	live_free(older);
}

static void does_not_merge_history_of_another_boot(void **state)
{
	struct live *older = live_new(0, NULL);
	struct report r = steady_report(1, 100, 1);
	struct node_load load;

	add(older, run_a, steady_report(1, 100, 3), 1000);
	add(older, run_a, steady_report(2, 102, 3), 1002);
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "boot-2");
	add(*state, run_b, r, 1010);
	live_merge_history(*state, older, "n1");
	load = load_at(*state, 1010);
	assert_true(isnan(load.cpu_used_cores_1h));
	node_load_fini(&load);
	live_free(older);
}

/* Twenty hours at 1 core, two at 3: the percentile of the day is 3. */
static void minutes_count_for_the_percentile_of_a_day(void **state)
{
	const uint64_t sample_ms = UINT64_C(1795226400000);
	struct node_load load;

	add(*state, run_a, steady_report(1, 100000, 1), 1000);
	for (uint64_t m = 1; m <= 1320; m++) {
		struct rollup_row row = { .from_ms = sample_ms -
				m * UINT64_C(60000),
			.covered_ms = 60000 };

		row.figures[ROLLUP_cpu_used_cores].mean = m <= 1200 ? 1 : 3;
		live_add_minute(*state, "n1", sample_ms, &row);
		live_add_minute(*state, "n2", sample_ms, &row);
		/* Before the machine booted. */
		row.from_ms = sample_ms - 200000000;
		live_add_minute(*state, "n1", sample_ms, &row);
	}
	load = load_at(*state, 1000);
	assert_true(fabs(load.cpu_p95_cores_1d - 3) <= 4 / 128.0);
	node_load_fini(&load);
}

static void a_removed_node_is_a_change(void **state)
{
	struct live *live = *state;

	add(live, run_a, steady_report(1, 100, 1), 1000);
	assert_int_equal(live_revision(live), 1);
	assert_true(live_remove(live, "n1"));
	assert_false(live_remove(live, "n1"));
	assert_int_equal(live_revision(live), 2);
	assert_int_equal(live_count(live), 0);
	add(live, run_a, steady_report(2, 102, 1), 1002);
	assert_true(isnan(cores_at(live, 1002)));
}

static void a_node_keeps_the_time_at_which_its_certificate_expires(void **state)
{
	(void)state;
	live_set_certificate_expiry(*state, "n1", 7);
	assert_null(live_find(*state, "n1"));
	add(*state, run_a, steady_report(1, 100, 1.5), 1000);
	assert_int_equal(
		live_node_certificate_expiry_s(live_find(*state, "n1")), 0);
	live_set_certificate_expiry(*state, "n1", 1795171612);
	add(*state, run_a, steady_report(2, 102, 1.5), 1002);
	assert_int_equal(
		live_node_certificate_expiry_s(live_find(*state, "n1")),
		1795171612);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(drops_duplicate_pods),
		TEST(merges_stored_history_under_newer_samples),
		TEST(does_not_merge_history_of_another_boot),
		TEST(minutes_count_for_the_percentile_of_a_day),
		TEST(has_rates_from_the_second_sample_on),
		TEST(a_replay_neither_replaces_nor_refreshes_a_node),
		TEST(a_replay_of_an_earlier_boot_does_not_replace_a_node),
		TEST(a_backlog_fills_the_windows_once),
		TEST(a_gap_stays_until_the_backlog_fills_it),
		TEST(ignores_wall_clocks),
		TEST(a_restarted_agent_continues_rates_and_windows),
		TEST(a_second_agents_report_right_after_the_first_has_no_rates),
		TEST(a_clock_that_ran_ahead_ends_with_its_process),
		TEST(a_reboot_clears_the_windows),
		TEST(a_counter_reset_is_a_gap),
		cmocka_unit_test(names_a_pod_on_its_own_node_only),
		TEST(follows_pods_and_drops_those_that_end),
		TEST(keeps_figures_that_only_every_fifth_report_has),
		TEST(accepts_a_report_with_a_duplicate_pod),
		TEST(steps_through_nodes_by_revision),
		TEST(a_removed_node_is_a_change),
		TEST(invented_names_keep_no_node_out),
		TEST(drops_lost_nodes_only),
		TEST(a_node_keeps_the_time_at_which_its_certificate_expires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
