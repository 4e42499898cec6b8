/* Pods' cgroups: read through kept files each sample; found by a scan when the
 * tree changed, as inotify has it, and by a slow one in any case.
 *
 * Which pods are virtual machines cannot be known from cgroups: every pod below
 * kubepods is reported, and the aggregator tells VMs apart by their launcher
 * pods. A cgroup is one series as long as its inode lasts: a group made anew
 * under the same name starts at 0 and is reported with its own inode. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stdint.h>

struct pods;

/* How long a new pod may stay unseen, and a deleted one kept in mind, where
 * inotify does not tell of it: for want of watches, or of kubepods itself. And
 * where it should have. */
#define PODS_RESCAN_US UINT64_C(10000000)
#define PODS_BACKSTOP_US UINT64_C(60000000)

/* Reads the tree below root, an open directory that outlives this; nothing is
 * reported where neither root nor root/unified is cgroup v2. Never NULL. */
struct pods *pods_new(int root);
void pods_free(struct pods *pods); /* NULL is fine */

/* Fills out->cgroup_mode, kubepods, vms, vm_count and vms_skipped, and looks
 * for new pods when something changed or the time has come by the clock of
 * now_us. with_memory also reads
 * what is slow: working set, swap, huge pages (of the sizes in out->hugepages)
 * and OOM kills. err is set if a file is there but cannot be made out. */
void pods_read(struct report *out, struct pods *pods, uint64_t now_us,
	bool with_memory, struct error *err);
