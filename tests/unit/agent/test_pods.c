#include "agent/pods.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>

#include "tests/unit/agent/fixture.h"

#define UID1 "0a1b2c3d-1111-2222-3333-444455556666"
#define UID2 "ffffffff-1111-2222-3333-444455556666"
#define POD1 "kubepods/burstable/pod" UID1
#define POD2 "kubepods/pod" UID2

/* A leak of 9 bytes a pod exceeds the tolerance. */
enum { CHURN = 2000, WAVE = 100, SLACK = 16 << 10 };

struct fixture {
	struct tree tree;
	struct pods *pods;
	struct report report;
	struct error err;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	tree_put(&f.tree, "cgroup.controllers", "cpu memory io\n");
	f.pods = pods_new(f.tree.fd);
	report_init(&f.report);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	report_fini(&f->report);
	pods_free(f->pods);
	tree_fini(&f->tree);
	return 0;
}

static void read_sample(struct fixture *f, uint64_t now_us)
{
	report_fini(&f->report);
	report_init(&f->report);
	f->report.hugepages[0].size_bytes = 2 << 20;
	f->report.hugepages[0].total = 8;
	f->report.hugepages[1].size_bytes = 1 << 30;
	f->report.hugepages[1].total = 1;
	f->report.hugepages_count = 2;
	f->err = (struct error){ 0 };
	pods_read(&f->report, f->pods, now_us, &f->err);
}

static void put_pressure(const struct tree *tree, const char *dir,
	const char *text)
{
	static const char *const names[] = { "cpu", "memory", "io" };
	char path[256];

	for (size_t i = 0; i < count_of(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s.pressure", dir,
			names[i]);
		tree_put(tree, path, text);
	}
}

static void put_pod1(const struct tree *tree)
{
	tree_put(tree, POD1 "/cpu.stat",
		"usage_usec 7000\nuser_usec 5000\nsystem_usec 2000\n"
		"nr_periods 40\nnr_throttled 12\nthrottled_usec 3400\n");
	put_pressure(tree, POD1,
		"some avg10=1.00 avg60=0.00 avg300=0.00 total=500\n"
		"full avg10=1.00 avg60=0.00 avg300=0.00 total=400\n");
	tree_put(tree, POD1 "/memory.current", "1000000\n");
	tree_put(tree, POD1 "/memory.stat",
		"anon 600000\nfile 400000\nkernel 1\nshmem 50000\n"
		"inactive_anon 5\nactive_anon 6\ninactive_file 300000\n"
		"active_file 7\n");
	tree_put(tree, POD1 "/memory.swap.current", "4096\n");
	tree_put(tree, POD1 "/memory.events",
		"low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\noom_group_kill 0\n");
	tree_put(tree, POD1 "/hugetlb.2MB.current", "134217728\n");
}

static void reads_every_value_of_a_throttled_pod(void **state)
{
	struct fixture *f = *state;
	const struct vm_pod *vm;

	put_pod1(&f->tree);
	put_pressure(&f->tree, "kubepods",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=900\n");
	read_sample(f, 1000);
	assert_int_equal(f->err.code, 0);
	assert_int_equal(f->report.cgroup_mode, CGROUP_V2);
	assert_int_equal(f->report.kubepods.cpu.state, SOURCE_PRESENT);
	assert_int_equal(f->report.kubepods.io.some_us, 900);
	assert_int_equal(f->report.vm_count, 1);
	vm = &f->report.vms[0];
	assert_string_equal(vm->pod_uid, UID1);
	assert_true(vm->cgroup_inode != 0);
	assert_int_equal(vm->cpu_usage_us, 7000);
	assert_int_equal(vm->nr_throttled, 12);
	assert_int_equal(vm->throttled_us, 3400);
	assert_int_equal(vm->pressure.cpu.some_us, 500);
	assert_int_equal(vm->pressure.io.full_us, 400);
	assert_int_equal(vm->memory_current_bytes, 1000000);
	assert_int_equal(vm->working_set_bytes, 700000);
	assert_int_equal(vm->anon_shmem_bytes, 650000);
	assert_int_equal(vm->swap_bytes, 4096);
	assert_int_equal(vm->oom_kills, 1);
	assert_int_equal(vm->hugetlb_count, 1);
	assert_int_equal(vm->hugetlb[0].size_bytes, 2 << 20);
	assert_int_equal(vm->hugetlb[0].used_bytes, 134217728);
}

static void assert_slow_values(const struct vm_pod *vm, bool are_known)
{
	enum source_state state = are_known ? SOURCE_PRESENT : SOURCE_UNKNOWN;

	assert_int_equal(vm->pressure.memory.state, state);
	assert_int_equal(vm->pressure.io.state, state);
	assert_int_equal(vm->pressure.memory.full_us != REPORT_UNKNOWN,
		are_known);
	assert_int_equal(vm->pressure.io.some_us != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->memory_current_bytes != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->working_set_bytes != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->anon_shmem_bytes != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->swap_bytes != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->oom_kills != REPORT_UNKNOWN, are_known);
	assert_int_equal(vm->hugetlb_count, are_known ? 1 : 0);
}

/* A value that is not read is unknown, and not what it was before. */
static void reads_slow_values_in_the_first_and_every_fifth_report(void **state)
{
	struct fixture *f = *state;

	put_pod1(&f->tree);
	for (uint64_t i = 0; i < 11; i++) {
		read_sample(f, 1000 + i);
		assert_int_equal(f->report.slow_every, 5);
		assert_slow_values(&f->report.vms[0], i % 5 == 0);
		assert_int_equal(f->report.vms[0].cpu_usage_us, 7000);
		assert_int_equal(f->report.vms[0].pressure.cpu.some_us, 500);
	}
}

static void put_pods(struct fixture *f, int first, int count)
{
	for (int i = first; i < first + count; i++) {
		scoped_free char *path = xasprintf(
			"kubepods/burstable/pod0a1b2c3d-1111-2222-3333-"
			"%012d",
			i);

		put_pressure(&f->tree, path,
			"some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
	}
}

static size_t count_slow(const struct report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < report->vm_count; i++) {
		const struct psi *psi = &report->vms[i].pressure.memory;

		count += psi->state == SOURCE_PRESENT;
	}
	return count;
}

static void each_report_has_the_slow_values_of_a_fifth_of_the_pods(void **state)
{
	struct fixture *f = *state;

	put_pods(f, 0, 20);
	read_sample(f, 1000);
	assert_int_equal(count_slow(&f->report), 20);
	for (uint64_t i = 1; i < 11; i++) {
		read_sample(f, 1000 + i);
		assert_int_equal(count_slow(&f->report), 4);
	}
	/* A new pod is complete at once. */
	put_pods(f, 20, 5);
	read_sample(f, 2000);
	assert_int_equal(count_slow(&f->report), 5 + 4);
	read_sample(f, 2001);
	assert_int_equal(count_slow(&f->report), 5);
}

/* How many reports are made until one has the memory pressure of the pod. */
static int reports_until_pressure(struct fixture *f, uint64_t *now_us,
	unsigned long total)
{
	const struct vm_pod *vm;
	int reports = 0;

	do {
		read_sample(f, (*now_us)++);
		reports++;
		vm = &f->report.vms[f->report.vm_count - 1];
		assert_string_equal(vm->pod_uid, UID1);
		assert_true(reports <= PODS_SLOW_EVERY);
	} while (vm->pressure.memory.state != SOURCE_PRESENT);
	assert_int_equal(vm->pressure.memory.some_us, total);
	return reports;
}

/* Whenever a pod begins to wait, and while others come and go. */
static void sudden_pressure_shows_within_five_reports(void **state)
{
	struct fixture *f = *state;
	uint64_t now_us = 1000;

	put_pod1(&f->tree);
	for (unsigned long total = 1000; total < 1020; total++) {
		scoped_free char *text = xasprintf(
			"some avg10=0.00 avg60=0.00 avg300=0.00 total=%lu\n",
			total);

		put_pods(f, (int)total, 1);
		tree_put(&f->tree, POD1 "/memory.pressure", text);
		assert_in_range(reports_until_pressure(f, &now_us, total), 1,
			PODS_SLOW_EVERY);
		/* The next one begins at another turn. */
		if (total % 3 == 0) {
			read_sample(f, now_us++);
		}
	}
}

static void never_reports_0_for_a_missing_file(void **state)
{
	struct fixture *f = *state;
	const struct vm_pod *vm;

	tree_dir(&f->tree, POD1);
	read_sample(f, 1000);
	assert_int_equal(f->err.code, 0);
	assert_int_equal(f->report.kubepods.cpu.state, SOURCE_ABSENT);
	vm = &f->report.vms[0];
	assert_true(vm->cpu_usage_us == REPORT_UNKNOWN);
	assert_true(vm->nr_throttled == REPORT_UNKNOWN);
	assert_int_equal(vm->pressure.cpu.state, SOURCE_ABSENT);
	assert_true(vm->pressure.cpu.some_us == REPORT_UNKNOWN);
	assert_true(vm->memory_current_bytes == REPORT_UNKNOWN);
	assert_true(vm->working_set_bytes == REPORT_UNKNOWN);
	assert_true(vm->swap_bytes == REPORT_UNKNOWN);
	assert_true(vm->oom_kills == REPORT_UNKNOWN);
	assert_int_equal(vm->hugetlb_count, 0);
}

static void clamps_a_negative_working_set_to_0(void **state)
{
	struct fixture *f = *state;

	tree_put(&f->tree, POD1 "/memory.current", "100\n");
	tree_put(&f->tree, POD1 "/memory.stat", "inactive_file 200\n");
	read_sample(f, 1000);
	assert_int_equal(f->report.vms[0].working_set_bytes, 0);
	assert_true(f->report.vms[0].anon_shmem_bytes == REPORT_UNKNOWN);
}

static void finds_new_and_removed_pods_at_the_next_sample(void **state)
{
	struct fixture *f = *state;

	tree_dir(&f->tree, POD1);
	read_sample(f, 1000);
	assert_int_equal(f->report.vm_count, 1);
	tree_dir(&f->tree, POD2);
	read_sample(f, 1001);
	assert_int_equal(f->report.vm_count, 2);
	assert_string_equal(f->report.vms[0].pod_uid, UID1);
	assert_string_equal(f->report.vms[1].pod_uid, UID2);
	tree_remove(&f->tree, POD1);
	read_sample(f, 1002);
	assert_int_equal(f->report.vm_count, 1);
	assert_string_equal(f->report.vms[0].pod_uid, UID2);
	assert_int_equal(f->report.vms_skipped, 0);
}

/* inotify reports no new kubepods, because nothing was watched. */
static void finds_a_new_kubepods_by_a_periodic_search(void **state)
{
	struct fixture *f = *state;

	read_sample(f, 1000);
	tree_dir(&f->tree, POD1);
	read_sample(f, 1000 + PODS_SEARCH_US - 1);
	assert_int_equal(f->report.vm_count, 0);
	read_sample(f, 1000 + PODS_SEARCH_US);
	assert_int_equal(f->report.vm_count, 1);
	tree_remove(&f->tree, "kubepods");
	read_sample(f, 1001 + PODS_SEARCH_US);
	assert_int_equal(f->report.vm_count, 0);
	assert_int_equal(f->report.kubepods.cpu.state, SOURCE_UNKNOWN);
}

/* The cgroup of a QoS class may also appear later. */
static void finds_pods_of_a_new_qos_class(void **state)
{
	struct fixture *f = *state;

	tree_dir(&f->tree, POD2);
	read_sample(f, 1000);
	tree_dir(&f->tree, POD1);
	read_sample(f, 1001);
	assert_int_equal(f->report.vm_count, 2);
}

static void wave(struct fixture *f, int first, bool appears)
{
	for (int i = first; i < first + WAVE; i++) {
		scoped_free char *path = xasprintf(
			"kubepods/burstable/pod0a1b2c3d-1111-2222-3333-"
			"%012d",
			i);

		if (appears) {
			tree_dir(&f->tree, path);
		} else {
			tree_remove(&f->tree, path);
		}
	}
}

/* 30 samples of two seconds: one minute. */
static void leaks_nothing_when_two_thousand_pods_come_and_go(void **state)
{
	struct fixture *f = *state;
	uint64_t now_us = 1000;
	size_t before;
	size_t bytes = 0;

	tree_dir(&f->tree, POD1);
	read_sample(f, now_us);
	before = open_files();
	for (int i = 0; i < CHURN; i += WAVE) {
		wave(f, i, true);
		read_sample(f, now_us += 2000000);
		assert_int_equal(f->report.vm_count, 1 + WAVE);
		wave(f, i, false);
		read_sample(f, now_us += 2000000);
		assert_int_equal(f->report.vm_count, 1);
		/* The first wave fills the caches of the allocator. */
		if (i == 0) {
			bytes = mallinfo2().uordblks;
		}
	}
	assert_int_equal(open_files(), before);
	/* Memory in the allocator's caches counts as used. */
	assert_true(mallinfo2().uordblks < bytes + SLACK);
}

static void a_recreated_cgroup_is_a_new_series(void **state)
{
	struct fixture *f = *state;
	uint64_t inode;

	tree_put(&f->tree, POD1 "/cpu.stat", "usage_usec 100\n");
	read_sample(f, 1000);
	inode = f->report.vms[0].cgroup_inode;
	/* Renamed and not removed: a freed inode may be used again. */
	assert_int_equal(renameat(f->tree.fd, POD1, f->tree.fd, "old"), 0);
	tree_put(&f->tree, POD1 "/cpu.stat", "usage_usec 5\n");
	read_sample(f, 1000 + PODS_SEARCH_US);
	assert_int_equal(f->report.vm_count, 1);
	assert_true(f->report.vms[0].cgroup_inode != inode);
	assert_int_equal(f->report.vms[0].cpu_usage_us, 5);
}

static void reads_changed_values_from_open_files(void **state)
{
	struct fixture *f = *state;

	put_pod1(&f->tree);
	read_sample(f, 1000);
	tree_put(&f->tree, POD1 "/cpu.stat", "usage_usec 8000\n");
	read_sample(f, 2000);
	assert_int_equal(f->report.vms[0].cpu_usage_us, 8000);
}

static void reports_a_file_it_cannot_parse(void **state)
{
	struct fixture *f = *state;

	tree_dir(&f->tree, POD1 "/cpu.stat");
	put_pressure(&f->tree, POD1, "x\n");
	read_sample(f, 1000);
	assert_int_equal(f->report.vm_count, 1);
	assert_int_equal(f->report.vms[0].pressure.cpu.state, SOURCE_ERROR);
	assert_true(f->err.code < 0);
}

static void searches_below_unified_on_hybrid_machines(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlinkat(f->tree.fd, "cgroup.controllers", 0), 0);
	tree_put(&f->tree, "unified/cgroup.controllers", "hugetlb\n");
	tree_put(&f->tree, "unified/" POD1 "/cpu.stat",
		"usage_usec 7\nuser_usec 5\nsystem_usec 2\n");
	read_sample(f, 1000);
	assert_int_equal(f->report.cgroup_mode, CGROUP_HYBRID);
	assert_int_equal(f->report.vm_count, 1);
	assert_int_equal(f->report.vms[0].cpu_usage_us, 7);
	assert_true(f->report.vms[0].nr_throttled == REPORT_UNKNOWN);
}

static void reports_no_pods_without_cgroup_v2(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlinkat(f->tree.fd, "cgroup.controllers", 0), 0);
	tree_dir(&f->tree, "cpu");
	tree_dir(&f->tree, POD1);
	read_sample(f, 1000);
	assert_int_equal(f->report.cgroup_mode, CGROUP_V1);
	assert_int_equal(f->report.vm_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_every_value_of_a_throttled_pod),
		TEST(reads_slow_values_in_the_first_and_every_fifth_report),
		TEST(each_report_has_the_slow_values_of_a_fifth_of_the_pods),
		TEST(sudden_pressure_shows_within_five_reports),
		TEST(never_reports_0_for_a_missing_file),
		TEST(clamps_a_negative_working_set_to_0),
		TEST(finds_new_and_removed_pods_at_the_next_sample),
		TEST(finds_a_new_kubepods_by_a_periodic_search),
		TEST(finds_pods_of_a_new_qos_class),
		TEST(leaks_nothing_when_two_thousand_pods_come_and_go),
		TEST(a_recreated_cgroup_is_a_new_series),
		TEST(reads_changed_values_from_open_files),
		TEST(reports_a_file_it_cannot_parse),
		TEST(searches_below_unified_on_hybrid_machines),
		TEST(reports_no_pods_without_cgroup_v2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
