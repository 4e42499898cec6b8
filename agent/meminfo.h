/* Memory of a node: /proc/meminfo, /proc/vmstat and /sys/kernel/mm/ksm.
 *
 * KubeVirt's virt-handler enables same-page merging (KSM) when memory is short.
 * A merged page is charged to one cgroup only, so the memory of the pods no
 * longer adds up to the node's. The difference is the memory that KSM saves. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

/* Every value REPORT_UNKNOWN. */
extern const struct memory meminfo_unknown;

/* Parses the text of /proc/meminfo; pure. The value of a missing line stays
 * unknown. -EBADMSG: MemTotal is missing. */
must_check int meminfo_parse(struct memory *out, const char *text,
	struct error *err);

/* Reads the file. err is set only if out->state becomes error. */
void meminfo_read(struct memory *out, struct kernel_file *file,
	struct error *err);

/* Parses the text of /proc/vmstat: the bytes that were read back from swap
 * since boot; pure. -EBADMSG: it has no such line, and *out is untouched. */
must_check int meminfo_parse_vmstat(uint64_t *out, const char *text,
	struct error *err);

/* Fills in out->swap_in_bytes, after meminfo_read(). The file costs more to
 * read than all others of a node together, so it is read only on a node with
 * swap, and stays unknown on the others. err is set if the file cannot be
 * read. */
void meminfo_read_swap_in(struct memory *out, struct kernel_file *vmstat,
	struct error *err);

/* Below /sys, for meminfo_read_ksm(). */
#define MEMINFO_KSM_FILE "kernel/mm/ksm/pages_sharing"

/* Fills in out->ksm_saved_bytes, which stays unknown if the kernel has no KSM.
 * err is set if the file holds no number. */
void meminfo_read_ksm(struct memory *out, struct kernel_file *file,
	struct error *err);
