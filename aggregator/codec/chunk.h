/* Many reports of one node as columns: exact, small, quick to read. Pure.
 *
 * What goes in comes out to the last bit: states, what is not known, texts,
 * the order of pods. The format, version 1; columns are column.h's, numbers
 * without a width its varints, a text is its length and its bytes:
 *
 *     byte 1, the version; 4 bytes CRC-32 of all behind it, lowest first
 *     number of reports; runs: their number, 16 bytes each; boot ids: their
 *     number, texts; most sizes of huge pages in a report; the same by NUMA
 *     node; bytes of the node's columns, then these, one value a report:
 *         run, boot id (places in the lists above), sample_ms minus
 *         monotonic_us / 1000, the members of fields_report, then for each
 *         size of huge pages the members of fields_hugepages, then for each
 *         of a NUMA node those of fields_numa
 *     number of pods; each: uid, cgroup inode, number of reports it is in,
 *         most sizes of huge pages, bytes of its columns
 *     lists of pods: their number; each: its length, places of pods; bytes of
 *         the column that gives each report's list, the column
 *     each pod's columns: the members of fields_vm, then for each size of huge
 *         pages those of fields_hugetlb; a value for each report it is in */
#pragma once

#include "aggregator/codec/report_schema.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/report.h"

enum {
	CHUNK_VERSION = 1,
	CHUNK_REPORTS_MAX = 8192,
	/* Pods of all reports together. */
	CHUNK_CELLS_MAX = 1 << 18,
	CHUNK_BYTES_MAX = 64 << 20,
};

struct chunk_report {
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t sample_ms;
	struct report report;
};

/* Appends a chunk of 1 to CHUNK_REPORTS_MAX reports with CHUNK_CELLS_MAX pods
 * together at most. */
void chunk_write(struct buffer *out, const struct chunk_report *reports,
	size_t count);

struct chunk;

/* What of the reports is decoded; the rest is not known in what is given. */
struct chunk_want {
	unsigned int parts;  /* enum fields_part */
	const char *pod_uid; /* of the pods this one alone; NULL: all */
};

/* bytes are copied where they are needed. What is not wanted is passed over,
 * and what a passed column holds is not looked at.
 * -EBADMSG: damaged, or no chunk. */
must_check int chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_want *want, struct error *err);
void chunk_close(struct chunk *chunk); /* NULL is fine */

size_t chunk_count(const struct chunk *chunk);
uint64_t chunk_sample_ms(const struct chunk *chunk, size_t at);

/* Report number `at` below chunk_count(), whose heap is the caller's.
 * -EBADMSG: damaged; *out is then nothing. */
must_check int chunk_get(struct chunk_report *out, const struct chunk *chunk,
	size_t at, struct error *err);
