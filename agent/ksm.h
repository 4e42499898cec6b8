/* What same-page merging saves: /sys/kernel/mm/ksm.
 *
 * KubeVirt's virt-handler switches KSM on under memory pressure. A merged page
 * is charged to one cgroup only, so pods' memory no longer adds up to the
 * node's; this is the difference. */
#pragma once

#include "agent/kernel_file.h"
#include "proto/report.h"

void ksm_init(struct kept_file *file, int sys);

/* Fills in out->ksm_saved_bytes; it stays unknown where the kernel has no KSM.
 * err is set if the file is no number. */
void ksm_read(struct memory *out, struct kept_file *file, struct error *err);
