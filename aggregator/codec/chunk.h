/* Many reports of one node as columns: exact, small, quick to read. Pure.
 *
 * Reports come out exactly as they went in: states, unknown values, texts, the
 * order of pods. The format, version 3; columns and varints are those of
 * codec/column.h, numbers without a width are varints, and a text is its length
 * and its bytes:
 *
 *     byte 1, the version; 4 bytes CRC-32 of the rest, lowest byte first
 *     number of reports; number of runs, 16 bytes each; number of boot ids,
 *     texts; the greatest number of huge page sizes in a report; the same by
 *     NUMA node; bytes of the node's columns, then these columns, with one
 *     value a report:
 *         run and boot id (numbers in the lists above), sample_ms minus
 *         monotonic_us / 1000, the fields of schema_report, then for each
 *         huge page size those of schema_hugepages, then for each huge page
 *         size of a NUMA node those of schema_numa
 *     number of pods; for each: uid, cgroup inode, number of reports with the
 *         pod, the greatest number of huge page sizes, bytes of its columns
 *     number of lists of pods; for each: its length, numbers of pods; bytes of
 *         a column with each report's list, the column
 *     columns of each pod, with one value for each report with the pod: the
 *         fields of schema_vm, then for each huge page size those of
 *         schema_hugetlb
 *
 * Version 2 has no column slow_every, the last of schema_report. Version 1 has
 * no column memory.swap_in_bytes, the last but one, either. */
#pragma once

#include "aggregator/codec/report_schema.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/report.h"

enum {
	CHUNK_VERSION = 3,
	CHUNK_REPORTS_MAX = 8192,
	/* Pods of all reports, counted in each report. */
	CHUNK_CELLS_MAX = 1 << 18,
	CHUNK_BYTES_MAX = 64 << 20,
};

struct chunk_report {
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t sample_ms;
	struct report report;
};

/* Appends a chunk of 1 to CHUNK_REPORTS_MAX reports with at most
 * CHUNK_CELLS_MAX pods. -EFBIG: the chunk does not fit; out is not usable. */
must_check int chunk_write(struct buffer *out,
	const struct chunk_report *reports, size_t count, struct error *err);

struct chunk;

/* Selects what to decode; the rest of the reports is unknown. */
struct chunk_selection {
	unsigned int parts;  /* enum schema_part */
	const char *pod_uid; /* decode only this pod; NULL: all */
};

/* Does not keep bytes. Skips unwanted columns without checking their values.
 * -EBADMSG: damaged, or not a chunk. */
must_check int chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_selection *selection, struct error *err);
void chunk_close(struct chunk *chunk); /* NULL is fine */

/* The memory that the chunk takes. */
size_t chunk_bytes(const struct chunk *chunk);

size_t chunk_count(const struct chunk *chunk);
uint64_t chunk_sample_ms(const struct chunk *chunk, size_t at);

/* Gets a report by its number, below chunk_count(). The caller frees the
 * report. -EBADMSG: damaged; there is nothing to free. */
must_check int chunk_get(struct chunk_report *out, const struct chunk *chunk,
	size_t at, struct error *err);
