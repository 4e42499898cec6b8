/* What plain files cannot do: the calls below are the linker's stand-ins. */
#include "agent/pods.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>

#include "agent/kernel_file.h"
#include "agent/kvm_prober.h"
#include "agent/psi.h"
#include "lib/loop.h"
#include "tests/unit/agent/fixture.h"

#define POD "kubepods/pod0a1b2c3d-1111-2222-3333-444455556666"

static struct {
	int read_errno;	   /* of the reads to come; 0: as it is */
	int reads;	   /* how many of them */
	int inotify_errno; /* 0: as it is */
	bool hangs;	   /* opening "kvm" waits for the gate */
} fault;

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
	if (fault.read_errno != 0 && fault.reads > 0) {
		fault.reads--;
		errno = fault.read_errno;
		return -1;
	}
	return __real_pread(fd, out, size, at);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
	if (fault.hangs && strcmp(name, "kvm") == 0) {
		(void)pthread_mutex_lock(&gate);
		(void)pthread_mutex_unlock(&gate);
	}
	return __real_openat(dir, name, flags, 0644);
}

int __wrap_inotify_init1(int flags)
{
	if (fault.inotify_errno != 0) {
		errno = fault.inotify_errno;
		return -1;
	}
	return __real_inotify_init1(flags);
}

static struct tree tree;

static int setup(void **state)
{
	(void)state;
	memset(&fault, 0, sizeof(fault));
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_fini(&tree);
	return 0;
}

/* RHEL 8 and 9 without psi=1: the files are there, reading them is refused. */
static void pressure_that_is_switched_off_is_disabled_and_not_0(void **state)
{
	struct kept_file file;
	struct error err = { 0 };
	struct psi psi;

	(void)state;
	tree_put(&tree, "cpu",
		"some avg10=0.00 avg60=0.00 avg300=0.00 "
		"total=7\n");
	kept_file_init(&file, tree.fd, "cpu");
	fault.read_errno = EOPNOTSUPP;
	fault.reads = 2;
	for (int i = 0; i < 2; i++) {
		psi_read(&psi, &file, &err);
		assert_int_equal(psi.state, SOURCE_DISABLED);
		assert_true(psi.some_us == REPORT_UNKNOWN);
		assert_int_equal(err.code, 0);
	}
	psi_read(&psi, &file, &err);
	assert_int_equal(psi.state, SOURCE_PRESENT);
	assert_int_equal(psi.some_us, 7);
	kept_file_fini(&file);
}

static void a_kept_file_whose_group_went_is_opened_anew(void **state)
{
	struct kept_file file;
	char text[64];

	(void)state;
	tree_put(&tree, "f", "1\n");
	kept_file_init(&file, tree.fd, "f");
	assert_int_equal(kept_file_read(&file, text, sizeof(text), NULL), 2);
	tree_remove(&tree, "f");
	tree_put(&tree, "f", "22\n");
	fault.read_errno = ENODEV;
	fault.reads = 1;
	assert_int_equal(kept_file_read(&file, text, sizeof(text), NULL), 3);
	assert_string_equal(text, "22\n");
	tree_remove(&tree, "f");
	fault.reads = 1;
	assert_int_equal(kept_file_read(&file, text, sizeof(text), NULL),
		-ENODEV);
	kept_file_fini(&file);
}

/* Between the list and the read, or between two samples. */
static void a_group_that_vanishes_is_dropped_quietly(void **state)
{
	struct error err = { 0 };
	struct pods *pods;
	struct report report;

	(void)state;
	tree_put(&tree, "cgroup.controllers", "cpu\n");
	tree_put(&tree, POD "/cpu.stat", "usage_usec 1\n");
	pods = pods_new(tree.fd);
	report_init(&report);
	pods_read(&report, pods, 1000, true, &err);
	assert_int_equal(report.vm_count, 1);
	report_fini(&report);
	tree_remove(&tree, POD "/cpu.stat");
	fault.read_errno = ENODEV;
	fault.reads = 1;
	report_init(&report);
	pods_read(&report, pods, 2000, true, &err);
	assert_int_equal(report.vm_count, 0);
	assert_int_equal(err.code, 0);
	report_fini(&report);
	pods_free(pods);
}

static void without_watches_pods_are_found_by_scans_and_it_is_said(void **state)
{
	struct error err = { 0 };
	struct pods *pods;
	struct report report;

	(void)state;
	fault.inotify_errno = EMFILE;
	tree_put(&tree, "cgroup.controllers", "cpu\n");
	tree_dir(&tree, "kubepods");
	pods = pods_new(tree.fd);
	report_init(&report);
	pods_read(&report, pods, 1000, false, &err);
	assert_int_equal(err.code, -EMFILE);
	assert_non_null(strstr(err.text, "new pods cannot be watched for"));
	tree_dir(&tree, POD);
	pods_read(&report, pods, 1000 + PODS_RESCAN_US - 1, false, &err);
	assert_int_equal(report.vm_count, 0);
	pods_read(&report, pods, 1000 + PODS_RESCAN_US, false, &err);
	assert_int_equal(report.vm_count, 1);
	report_fini(&report);
	pods_free(pods);
}

struct probe {
	struct kvm kvm;
	bool got;
};

static void on_probed(void *owner, const struct kvm *kvm)
{
	struct probe *probe = owner;

	probe->kvm = *kvm;
	probe->got = true;
}

/* A driver that hangs holds the probe's thread, never the agent; what it says
 * when it comes back is told too. */
static void a_device_whose_open_hangs_is_a_failure(void **state)
{
	struct probe probe = { .got = false };
	struct kvm_prober *prober;
	uv_loop_t loop;

	(void)state;
	tree_put(&tree, "kvm", "");
	fault.hangs = true;
	assert_int_equal(uv_loop_init(&loop), 0);
	(void)pthread_mutex_lock(&gate);
	prober = kvm_prober_new(&loop,
		&(const struct kvm_prober_options){
			.body = kvm_probe,
			.plan = { tree.fd, tree.fd, KVM_LEVEL_RUN },
			.every_ms = 30000,
			.timeout_ms = 20,
			.probed = on_probed,
			.owner = &probe,
		});
	run_until(&loop, &probe.got);
	assert_int_equal(probe.kvm.state, KVM_RUN_FAILED);
	assert_int_equal(probe.kvm.error_number, ETIMEDOUT);
	probe.got = false;
	(void)pthread_mutex_unlock(&gate);
	run_until(&loop, &probe.got);
	assert_int_not_equal(probe.kvm.error_number, ETIMEDOUT);
	kvm_prober_close(prober);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(pressure_that_is_switched_off_is_disabled_and_not_0),
		FAULT_TEST(a_kept_file_whose_group_went_is_opened_anew),
		FAULT_TEST(a_group_that_vanishes_is_dropped_quietly),
		FAULT_TEST(
			without_watches_pods_are_found_by_scans_and_it_is_said),
		FAULT_TEST(a_device_whose_open_hangs_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
