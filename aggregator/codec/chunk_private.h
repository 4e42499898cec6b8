/* An open chunk: codec/chunk_read.c decodes it, codec/chunk_get.c gets its
 * reports. */
#pragma once

#include "aggregator/codec/chunk.h"
#include "aggregator/codec/columns.h"

/* A pod, by uid and cgroup inode, in all reports. */
struct chunk_pod {
	char uid[REPORT_UID_MAX];
	uint64_t inode;
	size_t count, sizes, bytes;
	size_t used; /* reports with the pod, while lists are read */
	bool is_wanted;
	struct vm_pod pattern;
	struct columns columns;
	uint64_t *hugetlb; /* columns of count each; NULL: not wanted */
};

/* A pod in a report, the n-th report with this pod. */
struct cell {
	uint32_t pod, n;
};

struct pod_list {
	size_t begin, count; /* in pod_numbers */
};

struct chunk {
	size_t count, run_count, boot_count, sizes, numa;
	uint8_t (*runs)[REPORT_RUN_ID_BYTES];
	char (*boots)[REPORT_UID_MAX];
	uint64_t *leading;  /* columns of count each */
	uint64_t *elements; /* huge pages; NULL: not wanted */
	struct report pattern;
	struct columns columns;
	const uint64_t *monotonic_us; /* NULL: the pattern has it */
	struct chunk_pod *pods;
	size_t pod_count;
	struct pod_list *lists;
	size_t list_count;
	uint32_t *pod_numbers;
	size_t pod_number_count, pod_number_capacity;
	struct cell *cells;
	/* Begin of each report's cells, and the end of the last; NULL: pods are
	 * not wanted. */
	size_t *begins;
};

/* The columns before those of schema_report. */
enum { RUN, BOOT, SAMPLE, LEADING };
