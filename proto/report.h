/* A report of an agent about its node: the values behind plimsoll.proto's
 * Report. The members of the structs are the rows of proto/report_fields.h.
 *
 * Totals are as the kernel counts them. A value that is not known is
 * REPORT_UNKNOWN (integers) or NAN (doubles), never 0. Texts are inside the
 * structs; the only heap is vms. */
#pragma once

#include "proto/kvm_state.h"
#include "proto/report_fields.h"

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

/* Pressure stall information: totals since boot, or since the cgroup was made.
 * full_us is unknown where the kernel prints no "full" line. */
struct psi {
	PSI_FIELDS(REPORT_MEMBER, )
};

struct pressure {
	struct psi cpu, memory, io;
};

struct cpu_totals {
	CPU_FIELDS(REPORT_MEMBER, )
};

struct memory {
	MEMORY_FIELDS(REPORT_MEMBER, )
};

struct hugepages {
	HUGEPAGES_FIELDS(REPORT_MEMBER, )
};

struct numa_hugepages {
	NUMA_HUGEPAGES_FIELDS(REPORT_MEMBER, )
};

struct own_cost {
	OWN_COST_FIELDS(REPORT_MEMBER, )
};

struct hugetlb_use {
	HUGETLB_USE_FIELDS(REPORT_MEMBER, )
};

struct vm_pod {
	char pod_uid[REPORT_UID_MAX];
	uint64_t cgroup_inode; /* a new inode begins a new series */
	VM_POD_CPU_FIELDS(REPORT_MEMBER, )
	struct pressure pressure;
	VM_POD_MEMORY_FIELDS(REPORT_MEMBER, )
	struct hugetlb_use hugetlb[REPORT_HUGEPAGE_SIZES];
	size_t hugetlb_count;
};

struct report {
	REPORT_KEY_FIELDS(REPORT_MEMBER, )
	char boot_id[REPORT_UID_MAX];
	REPORT_TIME_FIELDS(REPORT_MEMBER, )
	struct cpu_totals cpu;
	struct pressure pressure, kubepods;
	struct psi irq; /* since Linux 6.1; a full line only */
	struct memory memory;
	struct hugepages hugepages[REPORT_HUGEPAGE_SIZES];
	size_t hugepages_count;
	REPORT_LOAD_FIELDS(REPORT_MEMBER, )
	struct kvm kvm;
	struct vm_pod *vms; /* owned */
	size_t vm_count;
	REPORT_VMS_FIELDS(REPORT_MEMBER, )
	REPORT_RUN_FIELDS(REPORT_MEMBER, )
	struct own_cost own;
	/* More than half of the struct, and mostly empty. The list is last so
	 * that a copy can end with the entries in use. */
	size_t numa_hugepages_count;
	struct numa_hugepages numa_hugepages[REPORT_NUMA_HUGEPAGES];
};

/* Every figure is unknown; keys, clocks and counts are 0, and lists empty. */
void report_init(struct report *report);
void vm_pod_init(struct vm_pod *vm);

void report_fini(struct report *report); /* NULL and zeroed are fine */

/* A copy that borrows vms. Entries of lists behind their counts are not
 * copied. */
void report_borrow(struct report *out, const struct report *from);

/* As report_borrow(), but *out takes over the heap of *from. */
void report_move(struct report *out, struct report *from);

/* A deep copy. */
void report_copy(struct report *out, const struct report *from);

/* Drops each pod whose uid an earlier pod of the report has. Only a broken or
 * hostile sender makes duplicates. */
void report_drop_duplicates(struct report *report);

/* "unknown", "present", "absent", "disabled", "error". */
const char *source_state_name(enum source_state state);

/* "unknown", "v2", "hybrid", "v1". */
const char *cgroup_mode_name(enum cgroup_mode mode);
