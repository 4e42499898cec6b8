#include "agent/pod.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/directory.h"
#include "agent/scan.h"
#include "lib/files.h"
#include "lib/memory.h"

enum {
	CPU_STAT_TEXT_MAX = 2048,
	/* 1,900 bytes in Linux 6.18. */
	MEMORY_STAT_MAX = 16 << 10,
};

struct pod *pod_open(int tree, const struct cgroup_pod *found,
	struct error *err)
{
	int dir = directory_open_at(tree, found->path, err);
	struct stat st;
	struct pod *pod;

	if (dir < 0) {
		return NULL;
	}
	if (fstat(dir, &st) != 0) {
		(void)error_errno(err, "cannot stat '%s'", found->path);
		directory_close(dir);
		return NULL;
	}
	pod = xcalloc(1, sizeof(*pod));
	pod->path = xstrdup(found->path);
	memcpy(pod->uid, found->uid, sizeof(pod->uid));
	/* The cgroup may have been replaced since it was found. */
	pod->inode = st.st_ino;
	pod->dir = dir;
	psi_files_init(&pod->pressure, dir);
	kernel_file_init(&pod->cpu_stat, dir, "cpu.stat");
	kernel_file_init(&pod->memory_current, dir, "memory.current");
	return pod;
}

void pod_free(struct pod *pod)
{
	if (pod == NULL) {
		return;
	}
	psi_files_fini(&pod->pressure);
	kernel_file_fini(&pod->cpu_stat);
	kernel_file_fini(&pod->memory_current);
	directory_close(pod->dir);
	free(pod->path);
	free(pod);
}

bool pod_is(const struct pod *pod, const struct cgroup_pod *found)
{
	return pod->inode == found->inode &&
		strcmp(pod->path, found->path) == 0;
}

/* A missing or disabled file is no error. */
static void note_error(struct error *err, int r, const struct pod *pod,
	const struct error *why)
{
	if (r < 0 && r != -ENOENT && r != -ENODEV && r != -EOPNOTSUPP) {
		(void)error_set(err, r, "%s: %s", pod->path, why->text);
	}
}

static int read_cpu(struct vm_pod *out, struct pod *pod, struct error *err)
{
	char text[CPU_STAT_TEXT_MAX];
	struct error why = { 0 };
	int r = kernel_file_read(&pod->cpu_stat, text, sizeof(text), &why);
	const struct scan_field fields[] = {
		{ "usage_usec", &out->cpu_usage_us },
		{ "nr_throttled", &out->nr_throttled },
		{ "throttled_usec", &out->throttled_us },
	};

	if (r < 0) {
		note_error(err, r, pod, &why);
		return r == -ENODEV ? r : 0;
	}
	(void)scan_keyed(text, fields, count_of(fields));
	return 0;
}

int pod_read(struct vm_pod *out, struct pod *pod, struct error *err)
{
	int r;

	vm_pod_init(out);
	memcpy(out->pod_uid, pod->uid, sizeof(out->pod_uid));
	out->cgroup_inode = pod->inode;
	r = read_cpu(out, pod, err);
	if (r < 0) {
		return r;
	}
	psi_read(&out->pressure.cpu, &pod->pressure.cpu, err);
	return 0;
}

static void read_number(uint64_t *out, const struct pod *pod, const char *name,
	struct error *err)
{
	struct error why = { 0 };
	int r = kernel_file_number_at(out, pod->dir, name, &why);

	note_error(err, r, pod, &why);
}

static void read_fields(const struct pod *pod, const char *name,
	const struct scan_field *fields, size_t count, struct error *err)
{
	char text[MEMORY_STAT_MAX];
	struct error why = { 0 };
	int r = file_read_at(text, sizeof(text), pod->dir, name, &why);

	note_error(err, r, pod, &why);
	if (r >= 0) {
		(void)scan_keyed(text, fields, count);
	}
}

static void read_memory_current(struct vm_pod *out, struct pod *pod,
	struct error *err)
{
	struct error why = { 0 };
	int r = kernel_file_number(&out->memory_current_bytes,
		&pod->memory_current, &why);

	note_error(err, r, pod, &why);
}

static void read_memory_stat(struct vm_pod *out, const struct pod *pod,
	struct error *err)
{
	uint64_t anon = REPORT_UNKNOWN;
	uint64_t shmem = REPORT_UNKNOWN;
	uint64_t inactive = REPORT_UNKNOWN;
	uint64_t current = out->memory_current_bytes;
	const struct scan_field fields[] = {
		{ "anon", &anon },
		{ "shmem", &shmem },
		{ "inactive_file", &inactive },
	};

	read_fields(pod, "memory.stat", fields, count_of(fields), err);
	if (anon != REPORT_UNKNOWN && shmem != REPORT_UNKNOWN) {
		out->anon_shmem_bytes = anon + shmem;
	}
	/* The formula of kubelet. The two files are not read at the same
	 * moment, so the difference can be below 0. */
	if (current != REPORT_UNKNOWN && inactive != REPORT_UNKNOWN) {
		out->working_set_bytes =
			current > inactive ? current - inactive : 0;
	}
}

/* "hugetlb.2MB.current": the name is made as in the kernel's mem_fmt(). */
static void hugetlb_name(char *out, size_t size, uint64_t size_bytes)
{
	uint64_t kib = size_bytes >> 10;
	const char *unit = "KB";

	if (kib >= 1 << 20) {
		kib >>= 20;
		unit = "GB";
	} else if (kib >= 1 << 10) {
		kib >>= 10;
		unit = "MB";
	}
	(void)snprintf(out, size, "hugetlb.%" PRIu64 "%s.current", kib, unit);
}

static void read_hugetlb(struct vm_pod *out, const struct pod *pod,
	uint64_t size_bytes, struct error *err)
{
	char name[64];
	struct hugetlb_use use = {
		.size_bytes = size_bytes,
		.used_bytes = REPORT_UNKNOWN,
	};

	hugetlb_name(name, sizeof(name), size_bytes);
	read_number(&use.used_bytes, pod, name, err);
	if (use.used_bytes != REPORT_UNKNOWN) {
		out->hugetlb[out->hugetlb_count++] = use;
	}
}

void pod_read_slow(struct vm_pod *out, struct pod *pod,
	const struct report *node, struct error *err)
{
	const struct scan_field oom_kills = { "oom_kill", &out->oom_kills };

	psi_read(&out->pressure.memory, &pod->pressure.memory, err);
	psi_read(&out->pressure.io, &pod->pressure.io, err);
	read_memory_current(out, pod, err);
	read_memory_stat(out, pod, err);
	read_number(&out->swap_bytes, pod, "memory.swap.current", err);
	read_fields(pod, "memory.events", &oom_kills, 1, err);
	for (size_t i = 0; i < node->hugepages_count; i++) {
		if (node->hugepages[i].total != 0) {
			read_hugetlb(out, pod, node->hugepages[i].size_bytes,
				err);
		}
	}
}
