#include "agent/sampler.h"

#include <errno.h>

#include "tests/unit/agent/fixture.h"

#define BOOT_ID "0a1b2c3d-1111-2222-3333-444455556666"
#define POD "kubepods.slice/kubepods-pod0123456789abcdef0123456789abcdef.slice"

struct fixture {
	struct tree tree;
	char proc[96], sys[96], cgroup[96];
	struct sampler *sampler;
	struct report report;
};

static int setup(void **state)
{
	static struct fixture f;
	const char *base;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	base = f.tree.path;
	(void)snprintf(f.proc, sizeof(f.proc), "%s/proc", base);
	(void)snprintf(f.sys, sizeof(f.sys), "%s/sys", base);
	(void)snprintf(f.cgroup, sizeof(f.cgroup), "%s/cgroup", base);
	tree_dir(&f.tree, "proc");
	tree_dir(&f.tree, "sys");
	tree_dir(&f.tree, "cgroup");
	report_init(&f.report);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	report_fini(&f->report);
	sampler_free(f->sampler);
	tree_fini(&f->tree);
	return 0;
}

static int open_sampler(struct fixture *f, struct error *err)
{
	const struct sampler_roots roots = { f->proc, f->sys, f->cgroup };

	return sampler_new(&f->sampler, &roots, err);
}

static void read_sample(struct fixture *f)
{
	report_fini(&f->report);
	sampler_read(&f->report, f->sampler, 5);
}

/* A node of Debian 11: Linux 5.10 prints no full line for cpu. */
static void put_node(const struct tree *tree)
{
	tree_put(tree, "proc/stat",
		"cpu  100 0 50 800 5 0 1 2 0 0\n"
		"cpu0 50 0 25 400 3 0 1 1 0 0\n"
		"cpu1 50 0 25 400 2 0 0 1 0 0\nintr 5\n");
	tree_put(tree, "proc/meminfo",
		"MemTotal: 2048 kB\nMemAvailable: 1024 kB\n");
	tree_put(tree, "proc/loadavg", "1.50 0.75 0.25 1/99 1234\n");
	tree_put(tree, "proc/sys/kernel/random/boot_id", BOOT_ID "\n");
	tree_put(tree, "proc/pressure/cpu",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=111\n");
	tree_put(tree, "proc/pressure/memory",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=222\n"
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=22\n");
	tree_put(tree, "proc/pressure/io",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=333\n"
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=33\n");
	tree_put(tree, "sys/devices/system/cpu/possible", "0-7\n");
	tree_put(tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
		"4\n");
	tree_put(tree,
		"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
		"3\n");
	tree_put(tree,
		"sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
		"1\n");
	tree_put(tree, "cgroup/cgroup.controllers", "cpu\n");
	tree_put(tree, "cgroup/" POD "/cpu.stat", "usage_usec 9\n");
	tree_put(tree, "cgroup/" POD "/memory.current", "500\n");
	tree_put(tree, "cgroup/" POD "/memory.stat", "inactive_file 100\n");
}

static void reads_a_whole_report(void **state)
{
	struct fixture *f = *state;
	const struct report *r = &f->report;

	put_node(&f->tree);
	assert_int_equal(open_sampler(f, NULL), 0);
	read_sample(f);
	assert_int_equal(sampler_last_error(f->sampler)->code, 0);
	assert_string_equal(r->boot_id, BOOT_ID);
	assert_int_equal(r->cpu.state, SOURCE_PRESENT);
	assert_int_equal(r->cpu.online, 2);
	assert_int_equal(r->cpu.possible, 8);
	assert_int_equal(r->pressure.cpu.some_us, 111);
	assert_true(r->pressure.cpu.full_us == REPORT_UNKNOWN);
	assert_int_equal(r->pressure.memory.full_us, 22);
	assert_int_equal(r->pressure.io.some_us, 333);
	assert_int_equal(r->memory.total_bytes, 2048 * 1024);
	assert_true(r->memory.swap_total_bytes == REPORT_UNKNOWN);
	assert_float_equal(r->load1, 1.5, 1e-9);
	assert_int_equal(r->hugepages_count, 1);
	assert_int_equal(r->hugepages[0].free, 3);
	assert_int_equal(r->cgroup_mode, CGROUP_V2);
	assert_int_equal(r->vm_count, 1);
	assert_string_equal(r->vms[0].pod_uid,
		"0123456789abcdef0123456789abcdef");
	assert_int_equal(r->vms[0].working_set_bytes, 400);
}

static void reads_slow_files_in_every_fifth_report(void **state)
{
	struct fixture *f = *state;

	put_node(&f->tree);
	tree_put(&f->tree, "sys/kernel/mm/ksm/pages_sharing", "3\n");
	assert_int_equal(open_sampler(f, NULL), 0);
	for (int i = 0; i < 11; i++) {
		bool known;

		read_sample(f);
		known = f->report.vms[0].working_set_bytes != REPORT_UNKNOWN;
		assert_int_equal(known, i % 5 == 0);
		known = f->report.memory.ksm_saved_bytes != REPORT_UNKNOWN;
		assert_int_equal(known, i % 5 == 0);
	}
}

static void reports_an_empty_node_as_unknown(void **state)
{
	struct fixture *f = *state;
	const struct report *r = &f->report;

	assert_int_equal(open_sampler(f, NULL), 0);
	read_sample(f);
	assert_int_equal(sampler_last_error(f->sampler)->code, 0);
	assert_string_equal(r->boot_id, "");
	assert_int_equal(r->cpu.state, SOURCE_ABSENT);
	assert_true(r->cpu.user_us == REPORT_UNKNOWN);
	assert_int_equal(r->cpu.possible, 0);
	assert_int_equal(r->pressure.cpu.state, SOURCE_ABSENT);
	assert_int_equal(r->memory.state, SOURCE_ABSENT);
	assert_true(r->memory.total_bytes == REPORT_UNKNOWN);
	assert_true(isnan(r->load1));
	assert_int_equal(r->hugepages_count, 0);
	assert_int_equal(r->cgroup_mode, CGROUP_UNKNOWN);
	assert_int_equal(r->vm_count, 0);
}

static void returns_the_last_error_until_a_report_has_none(void **state)
{
	struct fixture *f = *state;

	put_node(&f->tree);
	tree_put(&f->tree, "proc/pressure/io", "broken\n");
	assert_int_equal(open_sampler(f, NULL), 0);
	read_sample(f);
	assert_int_equal(f->report.pressure.io.state, SOURCE_ERROR);
	assert_string_equal(sampler_last_error(f->sampler)->text,
		"pressure/io: no 'some' line");
	put_node(&f->tree);
	read_sample(f);
	assert_int_equal(f->report.pressure.io.state, SOURCE_PRESENT);
	assert_int_equal(sampler_last_error(f->sampler)->code, 0);
}

static void fails_without_its_roots(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	tree_remove(&f->tree, "cgroup");
	assert_int_equal(open_sampler(f, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/cgroup': No such file"));
	assert_null(f->sampler);
	tree_put(&f->tree, "cgroup", "");
	assert_int_equal(open_sampler(f, &err), -ENOTDIR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_a_whole_report),
		TEST(reads_slow_files_in_every_fifth_report),
		TEST(reports_an_empty_node_as_unknown),
		TEST(returns_the_last_error_until_a_report_has_none),
		TEST(fails_without_its_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
