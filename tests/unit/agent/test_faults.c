/* Failures that plain files cannot produce: the linker replaces system calls
 * by the functions below. */
#include "agent/pods.h"

#include <dirent.h>
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
#define SECOND_POD "kubepods/pod0a1b2c3d-1111-2222-3333-444455557777"

static struct {
	int read_errno;	      /* of the next reads; 0: no failure */
	int reads;	      /* how many reads fail */
	int inotify_errno;    /* 0: no failure */
	int readdir_errno;    /* of the next call; 0: no failure */
	int second_pod_errno; /* of its next openat; 0: no failure */
	bool hides_types;     /* readdir() gives names alone */
	bool hangs;	      /* opening "kvm" waits for the gate */
} fault;

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

static int take_errno(int *from)
{
	int error_number = *from;

	*from = 0;
	return error_number;
}

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
	if (fault.second_pod_errno != 0 && strcmp(name, SECOND_POD) == 0) {
		errno = take_errno(&fault.second_pod_errno);
		return -1;
	}
	return __real_openat(dir, name, flags, 0644);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	struct dirent *entry;

	if (fault.readdir_errno != 0) {
		errno = take_errno(&fault.readdir_errno);
		return NULL;
	}
	entry = __real_readdir(dir);
	if (fault.hides_types && entry != NULL) {
		entry->d_type = DT_UNKNOWN;
	}
	return entry;
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
	tree_close(&tree);
	return 0;
}

/* RHEL 8 and 9 without psi=1: the files exist, but cannot be read. */
static void reports_disabled_pressure_as_disabled(void **state)
{
	struct kernel_file file;
	struct error err = { 0 };
	struct psi psi;

	(void)state;
	tree_put(&tree, "cpu",
		"some avg10=0.00 avg60=0.00 avg300=0.00 "
		"total=7\n");
	kernel_file_init(&file, tree.fd, "cpu");
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
	kernel_file_fini(&file);
}

static void reopens_the_file_of_a_removed_cgroup(void **state)
{
	struct kernel_file file;
	char text[64];

	(void)state;
	tree_put(&tree, "f", "1\n");
	kernel_file_init(&file, tree.fd, "f");
	assert_int_equal(kernel_file_read(&file, text, sizeof(text), NULL), 2);
	tree_remove(&tree, "f");
	tree_put(&tree, "f", "22\n");
	fault.read_errno = ENODEV;
	fault.reads = 1;
	assert_int_equal(kernel_file_read(&file, text, sizeof(text), NULL), 3);
	assert_string_equal(text, "22\n");
	tree_remove(&tree, "f");
	fault.reads = 1;
	assert_int_equal(kernel_file_read(&file, text, sizeof(text), NULL),
		-ENODEV);
	kernel_file_fini(&file);
}

/* Between the search and the read, or between two samples. */
static void omits_a_removed_cgroup_without_an_error(void **state)
{
	struct error err = { 0 };
	struct pods *pods;
	struct report report;

	(void)state;
	tree_put(&tree, "cgroup.controllers", "cpu\n");
	tree_put(&tree, POD "/cpu.stat", "usage_usec 1\n");
	pods = pods_new(tree.fd);
	report_init(&report);
	pods_read(&report, pods, 1000, &err);
	assert_int_equal(report.vm_count, 1);
	report_fini(&report);
	tree_remove(&tree, POD "/cpu.stat");
	fault.read_errno = ENODEV;
	fault.reads = 1;
	report_init(&report);
	pods_read(&report, pods, 2000, &err);
	assert_int_equal(report.vm_count, 0);
	assert_int_equal(err.code, 0);
	report_fini(&report);
	pods_free(pods);
}

static void finds_pods_periodically_without_watches(void **state)
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
	pods_read(&report, pods, 1000, &err);
	assert_int_equal(err.code, -EMFILE);
	assert_non_null(strstr(err.text, "cannot watch for new pods"));
	tree_dir(&tree, POD);
	pods_read(&report, pods, 1000 + PODS_SEARCH_US - 1, &err);
	assert_int_equal(report.vm_count, 0);
	pods_read(&report, pods, 1000 + PODS_SEARCH_US, &err);
	assert_int_equal(report.vm_count, 1);
	report_fini(&report);
	pods_free(pods);
}

/* Some file systems do not say in a listing what is a folder. */
static void finds_pods_without_types_in_listings(void **state)
{
	struct error err = { 0 };
	struct pods *pods;
	struct report report;

	(void)state;
	fault.hides_types = true;
	tree_put(&tree, "cgroup.controllers", "cpu\n");
	tree_dir(&tree, POD);
	tree_put(&tree, SECOND_POD, "a file\n");
	pods = pods_new(tree.fd);
	report_init(&report);
	pods_read(&report, pods, 1000, &err);
	assert_int_equal(err.code, 0);
	assert_int_equal(report.vm_count, 1);
	report_fini(&report);
	pods_free(pods);
}

/* One pod is known, a second one appears, and a call fails once. */
static void expect_no_pod_lost(int *fault_errno)
{
	struct error err = { 0 };
	struct pods *pods;
	struct report report;

	tree_put(&tree, "cgroup.controllers", "cpu\n");
	tree_dir(&tree, POD);
	pods = pods_new(tree.fd);
	for (int sample = 0; sample < 3; sample++) {
		report_init(&report);
		pods_read(&report, pods, 1000, &err);
		assert_int_equal(report.vm_count, sample < 2 ? 1 : 2);
		assert_int_equal(err.code, sample == 1 ? -EMFILE : 0);
		report_fini(&report);
		if (sample == 0) {
			tree_dir(&tree, SECOND_POD);
			*fault_errno = EMFILE;
		}
		err = (struct error){ 0 };
	}
	pods_free(pods);
}

static void keeps_known_pods_and_repeats_a_failed_search(void **state)
{
	(void)state;
	expect_no_pod_lost(&fault.readdir_errno);
}

static void opens_a_pod_at_the_next_sample_after_a_failure(void **state)
{
	(void)state;
	expect_no_pod_lost(&fault.second_pod_errno);
}

struct probe {
	struct kvm kvm;
	bool got, has_returned;
};

static void on_probed(void *owner, const struct kvm *kvm)
{
	struct probe *probe = owner;

	probe->kvm = *kvm;
	probe->got = true;
	probe->has_returned = kvm->error_number != ETIMEDOUT;
}

/* A driver that hangs blocks the probe's thread, but not the agent. The result
 * after it returns is used. */
static void reports_a_device_whose_open_hangs_as_failed(void **state)
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
			.cpu_ms = PATIENCE_S * UINT64_C(1000),
			.wall_ms = 20,
			.probed = on_probed,
			.owner = &probe,
		});
	run_until(&loop, &probe.got);
	assert_int_equal(probe.kvm.state, KVM_RUN_FAILED);
	assert_int_equal(probe.kvm.error_number, ETIMEDOUT);
	(void)pthread_mutex_unlock(&gate);
	run_until(&loop, &probe.has_returned);
	kvm_prober_close(prober);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(reports_disabled_pressure_as_disabled),
		FAULT_TEST(reopens_the_file_of_a_removed_cgroup),
		FAULT_TEST(omits_a_removed_cgroup_without_an_error),
		FAULT_TEST(finds_pods_periodically_without_watches),
		FAULT_TEST(finds_pods_without_types_in_listings),
		FAULT_TEST(keeps_known_pods_and_repeats_a_failed_search),
		FAULT_TEST(opens_a_pod_at_the_next_sample_after_a_failure),
		FAULT_TEST(reports_a_device_whose_open_hangs_as_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
