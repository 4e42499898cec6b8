/* A report in which each figure is there and differs from the others, so that
 * a text of it shows each of them. */
#pragma once

#include "tests/unit/proto/report_rows.h"

#include <stdio.h>

/* Gives each row the next number; a word gets the second of its words. */
static inline void full_rows(void *base, enum report_list of, uint64_t *number)
{
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		const struct report_row *row = &rows.list[i];
		uint64_t value = row->most < UINT32_MAX ? 1 : ++*number;
		double half = (double)value + 0.5;

		if (row->kind == REPORT_DOUBLE) {
			memcpy(&value, &half, sizeof(value));
		}
		/* Little endian: the first bytes are the low ones. */
		memcpy((char *)base + row->offset, &value, row->size);
	}
}

/* With two VM pods, and two entries in each list. */
static inline void full_report(struct report *report, uint64_t first)
{
	uint64_t number = first;

	report_init(report);
	full_rows(report, OF_NODE, &number);
	(void)snprintf(report->boot_id, sizeof(report->boot_id), "boot-1");
	report->vms = xcalloc(2, sizeof(*report->vms));
	report->vm_count = 2;
	report->hugepages_count = report->numa_hugepages_count = 2;
	for (size_t i = 0; i < 2; i++) {
		struct vm_pod *pod = &report->vms[i];

		vm_pod_init(pod);
		full_rows(pod, OF_POD, &number);
		full_rows(&report->hugepages[i], OF_HUGEPAGES, &number);
		full_rows(&report->numa_hugepages[i], OF_NUMA, &number);
		(void)snprintf(pod->pod_uid, sizeof(pod->pod_uid), "pod-%zu",
			i + 1);
		pod->cgroup_inode = ++number;
		pod->hugetlb_count = 2;
		full_rows(&pod->hugetlb[0], OF_HUGETLB, &number);
		full_rows(&pod->hugetlb[1], OF_HUGETLB, &number);
	}
}
