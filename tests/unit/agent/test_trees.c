/* The trees of other machines: which values are known and unknown. */
#include "agent/sampler.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

#define BURSTABLE "0a1b2c3d-1111-2222-3333-444455556666"
#define GUARANTEED "1a1b2c3d-1111-2222-3333-444455556666"

static struct report report;
static struct error last_error;

/* The first report of that machine. */
static const struct report *read_tree(const char *name)
{
	scoped_free char *proc =
		xasprintf("tests/fixtures/nodes/%s/proc", name);
	scoped_free char *sys = xasprintf("tests/fixtures/nodes/%s/sys", name);
	scoped_free char *cgroup =
		xasprintf("tests/fixtures/nodes/%s/cgroup", name);
	struct sampler *sampler;

	assert_int_equal(
		sampler_new(&sampler,
			&(struct sampler_roots){ proc, sys, cgroup }, NULL),
		0);
	sampler_read(&report, sampler, 1000);
	last_error = *sampler_last_error(sampler);
	sampler_free(sampler);
	return &report;
}

static int teardown(void **state)
{
	(void)state;
	report_fini(&report);
	return 0;
}

static const struct vm_pod *pod(const char *uid)
{
	for (size_t i = 0; i < report.vm_count; i++) {
		if (strcmp(report.vms[i].pod_uid, uid) == 0) {
			return &report.vms[i];
		}
	}
	fail_msg("no pod %s", uid);
	return NULL;
}

static void is_psi(const struct psi *psi, uint64_t some, uint64_t full)
{
	assert_int_equal(psi->state, SOURCE_PRESENT);
	assert_true(psi->some_us == some);
	assert_true(psi->full_us == full);
}

static void leaves_full_of_cpu_unknown_on_linux_5_10(void **state)
{
	const struct report *r = read_tree("debian11-5.10");

	(void)state;
	assert_int_equal(last_error.code, 0);
	is_psi(&r->pressure.cpu, 1000, REPORT_UNKNOWN);
	is_psi(&r->pressure.memory, 1000, 22);
	is_psi(&r->kubepods.cpu, 100, REPORT_UNKNOWN);
	assert_int_equal(r->irq.state, SOURCE_ABSENT);
	assert_int_equal(r->cgroup_mode, CGROUP_V2);
	assert_int_equal(r->vm_count, 2);
	is_psi(&pod(BURSTABLE)->pressure.cpu, 100, REPORT_UNKNOWN);
	assert_int_equal(pod(BURSTABLE)->throttled_us, 50);
	assert_int_equal(pod(GUARANTEED)->cpu_usage_us, 2000);
}

static void reads_every_value_of_a_pod_on_linux_6_1(void **state)
{
	const struct report *r = read_tree("debian12-6.1");
	const struct vm_pod *vm = pod(BURSTABLE);

	(void)state;
	assert_int_equal(last_error.code, 0);
	is_psi(&r->pressure.cpu, 1000, 0);
	assert_int_equal(r->cpu.online, 4);
	assert_int_equal(r->cpu.possible, 8);
	assert_int_equal(r->memory.swap_total_bytes, UINT64_C(2097148) << 10);
	assert_int_equal(r->memory.swap_in_bytes, 7 * sysconf(_SC_PAGESIZE));
	assert_true(r->memory.ksm_saved_bytes ==
		1024 * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_int_equal(r->hugepages[0].reserved, 1);
	assert_int_equal(r->numa_hugepages_count, 1);
	assert_int_equal(r->numa_hugepages[0].free, 3);
	/* The pod's cgroup, not those of the containers or KubeVirt below. */
	assert_int_equal(r->vm_count, 2);
	assert_int_equal(r->vms_skipped, 0);
	assert_int_equal(vm->cpu_usage_us, 1000);
	assert_int_equal(vm->nr_throttled, 2);
	is_psi(&vm->pressure.io, 100, 33);
	assert_int_equal(vm->memory_current_bytes, 1 << 30);
	assert_int_equal(vm->working_set_bytes, (1 << 30) - 40000000);
	assert_int_equal(vm->anon_shmem_bytes, 950000000);
	assert_int_equal(vm->oom_kills, 1);
	assert_int_equal(vm->hugetlb_count, 1);
	assert_int_equal(vm->hugetlb[0].used_bytes, 2097152);
	assert_true(vm->swap_bytes == REPORT_UNKNOWN);
}

static void reads_irq_pressure_on_a_current_kernel(void **state)
{
	const struct report *r = read_tree("linux-6.18");

	(void)state;
	assert_int_equal(last_error.code, 0);
	is_psi(&r->irq, REPORT_UNKNOWN, 4242);
	assert_int_equal(r->memory.ksm_saved_bytes, 0);
	assert_true(r->memory.swap_in_bytes == REPORT_UNKNOWN);
	assert_int_equal(r->vm_count, 2);
	is_psi(&pod(GUARANTEED)->pressure.cpu, 101, 7);
}

static void reports_no_pressure_without_psi(void **state)
{
	const struct report *r = read_tree("psi-off");
	const struct vm_pod *vm = pod("0123456789abcdef0123456789abcdef");

	(void)state;
	assert_int_equal(last_error.code, 0);
	assert_int_equal(r->pressure.cpu.state, SOURCE_ABSENT);
	assert_true(r->pressure.io.some_us == REPORT_UNKNOWN);
	assert_int_equal(vm->pressure.memory.state, SOURCE_ABSENT);
	assert_true(vm->pressure.cpu.some_us == REPORT_UNKNOWN);
	assert_int_equal(vm->cpu_usage_us, 5);
	assert_true(vm->nr_throttled == REPORT_UNKNOWN);
	assert_true(r->memory.ksm_saved_bytes == REPORT_UNKNOWN);
}

static void a_hybrid_machine_reports_its_v2_values(void **state)
{
	const struct report *r = read_tree("hybrid");
	const struct vm_pod *vm = pod(GUARANTEED);

	(void)state;
	assert_int_equal(last_error.code, 0);
	assert_int_equal(r->cgroup_mode, CGROUP_HYBRID);
	is_psi(&vm->pressure.cpu, 9, 8);
	assert_int_equal(vm->pressure.io.state, SOURCE_ABSENT);
	assert_true(vm->throttled_us == REPORT_UNKNOWN);
	assert_true(vm->memory_current_bytes == REPORT_UNKNOWN);
}

static void reports_no_pods_on_a_v1_machine(void **state)
{
	const struct report *r = read_tree("v1");

	(void)state;
	assert_int_equal(r->cgroup_mode, CGROUP_V1);
	assert_int_equal(r->vm_count, 0);
	assert_true(r->vms_skipped == REPORT_UNKNOWN);
	assert_int_equal(r->memory.state, SOURCE_PRESENT);
}

static void rejects_the_meminfo_of_a_container(void **state)
{
	const struct report *r = read_tree("lxcfs");

	(void)state;
	assert_int_equal(r->memory.state, SOURCE_ERROR);
	assert_true(r->memory.total_bytes == REPORT_UNKNOWN);
	assert_true(r->memory.available_bytes == REPORT_UNKNOWN);
	assert_string_equal(last_error.text,
		"'meminfo' shows 4096 MiB of the node's 15921 "
		"MiB; mount the host's /proc");
	assert_int_equal(r->cpu.state, SOURCE_PRESENT);
}

#define TREE_TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(leaves_full_of_cpu_unknown_on_linux_5_10),
		TREE_TEST(reads_every_value_of_a_pod_on_linux_6_1),
		TREE_TEST(reads_irq_pressure_on_a_current_kernel),
		TREE_TEST(reports_no_pressure_without_psi),
		TREE_TEST(a_hybrid_machine_reports_its_v2_values),
		TREE_TEST(reports_no_pods_on_a_v1_machine),
		TREE_TEST(rejects_the_meminfo_of_a_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
