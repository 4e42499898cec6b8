/* One pod's cgroup (v2) and the files that are read in it. */
#pragma once

#include "agent/cgroup.h"
#include "agent/kernel_file.h"
#include "agent/psi.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stdint.h>

struct pod {
	char *path; /* below the cgroup tree, owned */
	char uid[REPORT_UID_MAX];
	uint64_t inode;
	int dir;       /* owned */
	uint64_t turn; /* for pods.c */
	bool is_known; /* its slow values were read; for pods.c */
	struct psi_files pressure;
	struct kernel_file cpu_stat, memory_current;
};

/* Opens the directory of a pod that was found below tree. NULL: the pod is gone
 * since, or err says why it cannot be opened. */
struct pod *pod_open(int tree, const struct cgroup_pod *found,
	struct error *err);
void pod_free(struct pod *pod); /* NULL is fine */

/* True: both have the same path and the same inode. */
bool pod_is(const struct pod *pod, const struct cgroup_pod *found);

/* Fills in the fields that every report has: CPU time, throttling, and waiting
 * for CPU, which contention is made of. A value without a file stays unknown.
 * err is set if a file cannot be read or parsed.
 * -ENODEV: the cgroup was removed and *out must not be used. Otherwise 0. */
must_check int pod_read(struct vm_pod *out, struct pod *pod, struct error *err);

/* Adds the slow values: the other pressures, memory, huge pages, OOM kills.
 * Call pod_read() first. node->hugepages has the huge page sizes of the node.
 * The five files of memory are opened for this call: an open one saves 2 us a
 * read and takes 4 KiB of the kernel's memory. */
void pod_read_slow(struct vm_pod *out, struct pod *pod,
	const struct report *node, struct error *err);
