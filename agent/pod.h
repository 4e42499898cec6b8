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
	int dir; /* owned */
	struct psi_files pressure;
	struct kept_file cpu_stat, memory_current;
};

/* Opens the directory of one that was found below tree. NULL: it is gone
 * meanwhile. */
struct pod *pod_open(int tree, const struct cgroup_pod *found);
void pod_free(struct pod *pod); /* NULL is fine */

/* The same path and the same inode. */
bool pod_is(const struct pod *pod, const struct cgroup_pod *found);

/* Fills in what every report holds. What has no file stays unknown.
 * -ENODEV: the cgroup was removed, *out is of no use. Otherwise 0; a file that
 * cannot be made out says so in err. */
must_check int pod_read(struct vm_pod *out, struct pod *pod, struct error *err);

/* Adds what is slow to read, through files opened for the occasion: keeping
 * five more descriptors a pod would buy little. Needs pod_read() before.
 * node->hugepages says which sizes there are. */
void pod_read_memory(struct vm_pod *out, const struct pod *pod,
	const struct report *node, struct error *err);
