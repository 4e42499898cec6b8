/* What an agent says of its node: the values behind plimsoll.proto's Report.
 *
 * Totals are as the kernel counts them. Whatever is not known holds
 * REPORT_UNKNOWN (integers) or NAN (doubles), never 0. Texts are inside the
 * structs; the only heap is vms. */
#pragma once

#include "proto/kvm.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_UNKNOWN UINT64_MAX

enum {
	REPORT_UID_MAX = 40, /* a pod uid or boot id with its NUL */
	REPORT_HUGEPAGE_SIZES = 4,
	REPORT_NUMA_HUGEPAGES = 32, /* sizes times NUMA nodes */
	REPORT_VMS_MAX = 2048, /* per report; kubelets stop at a few hundred */
	REPORT_NODE_MAX = 254, /* a node's name with its NUL */
	REPORT_RUN_ID_BYTES = 16,
};

/* The same numbers as in plimsoll.proto. */
enum source_state {
	SOURCE_UNKNOWN,
	SOURCE_PRESENT,
	SOURCE_ABSENT,
	SOURCE_DISABLED,
	SOURCE_ERROR,
};

enum cgroup_mode { CGROUP_UNKNOWN, CGROUP_V2, CGROUP_HYBRID, CGROUP_V1 };

struct psi {
	enum source_state state;
	uint64_t some_us; /* totals since boot, or since the cgroup was made */
	uint64_t full_us; /* unknown where the kernel prints no full line */
};

struct pressure {
	struct psi cpu, memory, io;
};

struct cpu_totals {
	enum source_state state;
	uint32_t online, possible; /* 0: not known */
	uint64_t user_us, nice_us, system_us, idle_us, iowait_us, irq_us;
	uint64_t softirq_us, steal_us;
};

struct memory {
	enum source_state state;
	uint64_t total_bytes, available_bytes;
	uint64_t swap_total_bytes, swap_free_bytes;
	uint64_t ksm_saved_bytes; /* what pods share, counted in each */
};

struct hugepages {
	uint64_t size_bytes;
	uint64_t total, free, reserved; /* pages */
};

struct numa_hugepages {
	uint64_t numa_node, size_bytes;
	uint64_t total, free; /* pages */
};

/* What the agent's own process costs. */
struct own_cost {
	uint64_t cpu_us; /* user and system, since it started */
	uint64_t rss_bytes, spool_bytes;
};

struct hugetlb_use {
	uint64_t size_bytes, used_bytes;
};

struct vm_pod {
	char pod_uid[REPORT_UID_MAX];
	uint64_t cgroup_inode;
	uint64_t cpu_usage_us, nr_throttled, throttled_us;
	struct pressure pressure;
	uint64_t memory_current_bytes;
	/* Every fifth report; unknown in the others. */
	uint64_t working_set_bytes, anon_shmem_bytes, swap_bytes, oom_kills;
	struct hugetlb_use hugetlb[REPORT_HUGEPAGE_SIZES];
	size_t hugetlb_count;
};

struct report {
	uint64_t seq; /* from 1, +1 per report of this run */
	char boot_id[REPORT_UID_MAX];
	uint64_t monotonic_us; /* the agent's clock */
	uint64_t wall_us;      /* the same, for people */
	uint32_t interval_ms;
	struct cpu_totals cpu;
	struct pressure pressure, kubepods;
	struct psi irq; /* since Linux 6.1; a full line only */
	struct memory memory;
	struct hugepages hugepages[REPORT_HUGEPAGE_SIZES];
	size_t hugepages_count;
	double load1, load5, load15;
	enum cgroup_mode cgroup_mode;
	struct kvm kvm;
	struct vm_pod *vms; /* owned */
	size_t vm_count;
	uint64_t vms_skipped; /* VM pods that did not fit in vms */
	uint64_t dropped;     /* reports this run lost from its ring so far */
	struct own_cost own;
	/* More than half of the struct and mostly empty: last, so that a copy
	 * may end with what it holds. */
	size_t numa_hugepages_count;
	struct numa_hugepages numa_hugepages[REPORT_NUMA_HUGEPAGES];
};

/* Everything unknown, nothing counted. */
void report_init(struct report *report);
void vm_pod_init(struct vm_pod *vm);

void report_fini(struct report *report); /* NULL and zeroed are fine */

/* A copy that borrows vms. What lists hold beyond their counts is not copied. */
void report_borrow(struct report *out, const struct report *from);

/* Takes from's heap as well, and leaves it none; otherwise as report_borrow(). */
void report_move(struct report *out, struct report *from);

/* A deep copy. */
void report_copy(struct report *out, const struct report *from);

/* Drops pods whose uid an earlier one has. No honest sender has such. */
void report_drop_twins(struct report *report);

/* "unknown", "present", "absent", "disabled", "error". */
const char *source_state_name(enum source_state state);

/* "unknown", "v2", "hybrid", "v1". */
const char *cgroup_mode_name(enum cgroup_mode mode);
