/* Minutes and hours of a node and its VM pods, made from reports. Pure.
 *
 * Each interval between two reports of one run counts for the rows it lies in
 * by the time it shares with them. mean is weighted by time, max is the largest
 * interval's figure, p95 the least figure that the interval figures do not
 * exceed for 95 % of the time that is known. A gap is a gap: what no interval
 * covers is NAN and no row at all if nothing is known of it. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(group, field): the name is "group.field", as in proto/load.h. Order is part
 * of the stored format: new ones go to the end. */
#define ROLLUP_NODE_FIELDS(X)                                                  \
	X(cpu, cores)                                                          \
	X(cpu, used_cores)                                                     \
	X(cpu, pressure_some)                                                  \
	X(cpu, contention)                                                     \
	X(memory, total_bytes)                                                 \
	X(memory, available_bytes)                                             \
	X(memory, working_set_bytes)                                           \
	X(memory, pressure_some)                                               \
	X(memory, pressure_full)                                               \
	X(io, pressure_some)                                                   \
	X(io, pressure_full)

/* Of a VM pod: cores used, contention, anonymous + shared + huge page bytes,
 * and its cgroup's working set. */
enum rollup_vm_field {
	ROLLUP_VM_USED_CORES,
	ROLLUP_VM_CONTENTION,
	ROLLUP_VM_MEMORY_BYTES,
	ROLLUP_VM_WORKING_SET_BYTES,
	ROLLUP_VM_FIELDS,
};

enum rollup_node_field {
#define X(group, field) ROLLUP_##group##_##field,
	ROLLUP_NODE_FIELDS(X)
#undef X
		ROLLUP_FIELDS, /* of a node; pods have fewer */
};

struct rollup_figure {
	double mean, max, p95; /* NAN: not known */
};

struct rollup_row {
	uint64_t from_ms;    /* a whole minute or hour of unix time */
	uint32_t covered_ms; /* of it, by intervals between reports */
	/* By rollup_node_field, or the first ROLLUP_VM_FIELDS by
	 * rollup_vm_field. */
	struct rollup_figure figures[ROLLUP_FIELDS];
};

struct buffer;
struct rollup;

/* The hour of unix time that begins at hour_ms. Never NULL. */
struct rollup *rollup_new(uint64_t hour_ms);
void rollup_free(struct rollup *rollup); /* NULL is fine */

/* Adds reports by rising sample time, from a little before the hour to a little
 * after it. The report is moved away. */
void rollup_add(struct rollup *rollup, const uint8_t *run_id,
	uint64_t sample_ms, struct report *report);

/* Reports of times from this on, until that, make an hour whole. */
enum { ROLLUP_MARGIN_MS = 60000 };

/* The node (series 0) and its pods. */
size_t rollup_series_count(const struct rollup *rollup);
const char *rollup_series_uid(const struct rollup *rollup, size_t series);

/* Rows of a series, minutes or the hour; at most ROLLUP_ROWS. */
enum { ROLLUP_ROWS = 60 };
size_t rollup_rows(struct rollup_row rows[ROLLUP_ROWS],
	const struct rollup *rollup, size_t series, bool is_hour);

/* All series as bytes. Figures are rounded: cores to 1/1000, shares to 1/10000,
 * bytes to 4096. The format, version 1, in the words of chunk.h:
 *
 *     byte 1, the version; 4 bytes CRC-32 of all behind it, lowest first
 *     beginning of the hour in hours; number of series; each: its pod's uid,
 *     or no text for the node; number of rows; bytes of its columns
 *     each series' columns: minute of the hour, covered_ms, then for each
 *     figure its mean, max and p95 in units of its rounding, these two minus
 *     the mean; all three are REPORT_UNKNOWN where nothing is known */
void rollup_pack(struct buffer *out, const struct rollup *rollup, bool is_hour);

/* A series' rows; pod_uid "" is the node. Borrowed during the call. */
typedef void (*rollup_series)(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count);

/* Gives the series of pod_uid of packed ones if it is there; NULL: all, the
 * node first. -EBADMSG: damaged; what was given before that is good. */
must_check int rollup_unpack(const void *bytes, size_t len, const char *pod_uid,
	rollup_series given, void *owner, struct error *err);
