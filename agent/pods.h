/* The pods of a node: reads their cgroups at each sample.
 *
 * The tree is searched for pods when inotify reports a change, and periodically
 * because events can be missed. Cgroups do not show which pods are virtual
 * machines, so every pod below kubepods is reported; the aggregator finds the
 * VMs by their launcher pods. A cgroup is one series as long as its inode
 * lasts: a cgroup that is re-created under the same name starts at 0 and is
 * reported with its new inode. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

struct pods;

/* The time between two searches without inotify (no watches are left, or there
 * is no kubepods yet), and with inotify. */
#define PODS_SEARCH_US UINT64_C(10000000)
#define PODS_BACKSTOP_US UINT64_C(60000000)

/* Reads the tree below root, an open directory that outlives this. Nothing is
 * reported if neither root nor root/unified is cgroup v2. Never NULL. */
struct pods *pods_new(int root);
void pods_free(struct pods *pods); /* NULL is fine */

/* The pods take turns with their slow values (pod_read_slow()): a pod's are in
 * its first report and then in every fifth one. So none is older than this many
 * reports, and each report costs the same. */
enum { PODS_SLOW_EVERY = 5 };

/* Fills out->cgroup_mode, kubepods, vms, vm_count, vms_skipped and slow_every,
 * and searches for pods if something changed or a search is due at now_us.
 * out->hugepages has the sizes of huge pages. err is set if a file or directory
 * exists but cannot be read or parsed; a search that failed is repeated at the
 * next call. */
void pods_read(struct report *out, struct pods *pods, uint64_t now_us,
	struct error *err);
