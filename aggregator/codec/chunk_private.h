/* What an open chunk holds, between the files that read it: chunk_read.c opens
 * one, chunk_get.c gives its reports. */
#pragma once

#include "aggregator/codec/chunk.h"
#include "aggregator/codec/columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of all reports together. */
struct pod {
	char uid[REPORT_UID_MAX];
	uint64_t inode;
	size_t count, sizes, bytes;
	size_t used; /* reports that were found to hold it */
	bool is_wanted;
	struct vm_pod pattern;
	struct members members;
	uint64_t *hugetlb; /* columns of count each; NULL: not wanted */
};

/* A pod in a report: the n-th of those that hold it. */
struct cell {
	uint32_t pod, n;
};

struct list {
	size_t begin, count; /* in places */
};

struct chunk {
	size_t count, run_count, boot_count, sizes, numa;
	uint8_t (*runs)[REPORT_RUN_ID_BYTES];
	char (*boots)[REPORT_UID_MAX];
	uint64_t *leading;  /* columns of count each */
	uint64_t *elements; /* of huge pages; NULL: not wanted */
	struct report pattern;
	struct members members;
	const uint64_t *monotonic_us; /* NULL: as in the pattern */
	struct pod *pods;
	size_t pod_count;
	struct list *lists;
	size_t list_count;
	uint32_t *places;
	size_t place_count, place_capacity;
	struct cell *cells;
	/* Of each report's cells, and the end of the last; NULL: no pods are
	 * wanted. */
	size_t *begins;
};

/* Leading columns, before those of fields_report. */
enum { RUN, BOOT, SAMPLE, LEADING };
