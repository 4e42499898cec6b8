#include "agent/pod.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/scan.h"
#include "lib/files.h"
#include "lib/memory.h"

enum {
	NUMBER_MAX = 64,
	CPU_STAT_TEXT_MAX = 2048,
	EVENTS_MAX = 1024,
	/* 1,900 bytes in Linux 6.18. */
	MEMORY_STAT_MAX = 16 << 10,
};

struct pod *pod_open(int tree, const struct cgroup_pod *found)
{
	int dir = openat(tree, found->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	struct pod *pod;

	if (dir < 0) {
		return NULL;
	}
	if (fstat(dir, &st) != 0) {
		(void)close(dir);
		return NULL;
	}
	pod = xcalloc(1, sizeof(*pod));
	pod->path = xstrdup(found->path);
	memcpy(pod->uid, found->uid, sizeof(pod->uid));
	/* Of what is open, not of what was found: it may be another by now. */
	pod->inode = st.st_ino;
	pod->dir = dir;
	psi_files_init(&pod->pressure, dir);
	kept_file_init(&pod->cpu_stat, dir, "cpu.stat");
	kept_file_init(&pod->memory_current, dir, "memory.current");
	return pod;
}

void pod_free(struct pod *pod)
{
	if (pod == NULL) {
		return;
	}
	psi_files_fini(&pod->pressure);
	kept_file_fini(&pod->cpu_stat);
	kept_file_fini(&pod->memory_current);
	(void)close(pod->dir);
	free(pod->path);
	free(pod);
}

bool pod_is(const struct pod *pod, const struct cgroup_pod *found)
{
	return pod->inode == found->inode &&
		strcmp(pod->path, found->path) == 0;
}

/* Whatever went wrong but for a missing file is worth telling. */
static void complain(struct error *err, int r, const struct pod *pod,
	const struct error *why)
{
	if (r != -ENOENT && r != -ENODEV && r != -EOPNOTSUPP) {
		(void)error_set(err, r, "%s: %s", pod->path, why->text);
	}
}

static int read_cpu(struct vm_pod *out, struct pod *pod, struct error *err)
{
	char text[CPU_STAT_TEXT_MAX];
	struct error why = { 0 };
	int r = kept_file_read(&pod->cpu_stat, text, sizeof(text), &why);
	const struct scan_want want[] = {
		{ "usage_usec", &out->cpu_usage_us },
		{ "nr_throttled", &out->nr_throttled },
		{ "throttled_usec", &out->throttled_us },
	};

	if (r < 0) {
		complain(err, r, pod, &why);
		return r == -ENODEV ? r : 0;
	}
	(void)scan_keyed(text, want, count_of(want));
	return 0;
}

int pod_read(struct vm_pod *out, struct pod *pod, struct error *err)
{
	char text[NUMBER_MAX];
	struct error why = { 0 };
	int r;

	vm_pod_init(out);
	memcpy(out->pod_uid, pod->uid, sizeof(out->pod_uid));
	out->cgroup_inode = pod->inode;
	r = read_cpu(out, pod, err);
	if (r < 0) {
		return r;
	}
	psi_files_read(&out->pressure, &pod->pressure, err);
	r = kept_file_read(&pod->memory_current, text, sizeof(text), &why);
	if (r < 0) {
		complain(err, r, pod, &why);
	} else {
		(void)scan_single(text, &out->memory_current_bytes);
	}
	return 0;
}

static void read_number(uint64_t *out, const struct pod *pod, const char *name,
	struct error *err)
{
	char text[NUMBER_MAX];
	struct error why = { 0 };
	int r = file_read_at(text, sizeof(text), pod->dir, name, &why);

	if (r < 0) {
		complain(err, r, pod, &why);
	} else {
		(void)scan_single(text, out);
	}
}

static void read_memory_stat(struct vm_pod *out, const struct pod *pod,
	struct error *err)
{
	char text[MEMORY_STAT_MAX];
	struct error why = { 0 };
	uint64_t anon = REPORT_UNKNOWN;
	uint64_t shmem = REPORT_UNKNOWN;
	uint64_t inactive = REPORT_UNKNOWN;
	uint64_t current = out->memory_current_bytes;
	const struct scan_want want[] = {
		{ "anon", &anon },
		{ "shmem", &shmem },
		{ "inactive_file", &inactive },
	};
	int r = file_read_at(text, sizeof(text), pod->dir, "memory.stat", &why);

	if (r < 0) {
		complain(err, r, pod, &why);
		return;
	}
	(void)scan_keyed(text, want, count_of(want));
	if (anon != REPORT_UNKNOWN && shmem != REPORT_UNKNOWN) {
		out->anon_shmem_bytes = anon + shmem;
	}
	/* As kubelet has it. The two files are read one after the other, so
	 * that the difference can come out below 0. */
	if (current != REPORT_UNKNOWN && inactive != REPORT_UNKNOWN) {
		out->working_set_bytes =
			current > inactive ? current - inactive : 0;
	}
}

static void read_oom_kills(struct vm_pod *out, const struct pod *pod,
	struct error *err)
{
	char text[EVENTS_MAX];
	struct error why = { 0 };
	const struct scan_want want = { "oom_kill", &out->oom_kills };
	int r = file_read_at(text, sizeof(text), pod->dir, "memory.events",
		&why);

	if (r < 0) {
		complain(err, r, pod, &why);
		return;
	}
	(void)scan_keyed(text, &want, 1);
}

/* "hugetlb.2MB.current": named as the kernel's mem_fmt() has it. */
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
	char name[NUMBER_MAX];
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

void pod_read_memory(struct vm_pod *out, const struct pod *pod,
	const struct report *node, struct error *err)
{
	read_memory_stat(out, pod, err);
	read_number(&out->swap_bytes, pod, "memory.swap.current", err);
	read_oom_kills(out, pod, err);
	for (size_t i = 0; i < node->hugepages_count; i++) {
		/* Nobody uses what the node has none of. */
		if (node->hugepages[i].total != 0) {
			read_hugetlb(out, pod, node->hugepages[i].size_bytes,
				err);
		}
	}
}
