/* Minutes and hours of a node and its VM pods, computed from reports. Pure.
 *
 * Each interval between two reports of a boot counts in the rows it overlaps,
 * by the time of the overlap. mean is weighted by time; max is the greatest
 * figure of an interval; p95 is the least figure that the intervals do not
 * exceed for 95 % of the known time. A figure without an interval is NAN; there
 * is no row without an interval.
 *
 * Agents choose how many pods they name and how often they report, so both are
 * limited, and with them the memory of a rollup: 76 MiB. The pods that were
 * named last are left out. A node that reports too often has no rollup. */
#pragma once

#include "proto/report.h"

/* X(group, field, unit, parts): figures of a node. Their names are those of
 * proto/load_fields.h. unit is CORES, SHARE or BYTES: codec/rollup_pack.c
 * rounds by it. parts are those of a report that the figure is computed from,
 * enum schema_part of codec/report_schema.h. Used cores are clamped to those
 * online. Contention is that of the pods, or the node's pressure above a share
 * of used cores. The order is part of the stored format: add new fields at the
 * end. */
#define ROLLUP_NODE_FIELDS(X)                                                  \
	X(cpu, cores, CORES, SCHEMA_CPU)                                       \
	X(cpu, used_cores, CORES, SCHEMA_CPU)                                  \
	X(cpu, pressure_some, SHARE, SCHEMA_PRESSURE)                          \
	X(cpu, contention, SHARE,                                              \
		SCHEMA_CPU | SCHEMA_PRESSURE | SCHEMA_POD_CPU)                 \
	X(memory, total_bytes, BYTES, SCHEMA_MEMORY)                           \
	X(memory, available_bytes, BYTES, SCHEMA_MEMORY)                       \
	X(memory, working_set_bytes, BYTES, SCHEMA_MEMORY | SCHEMA_POD_MEMORY) \
	X(memory, pressure_some, SHARE, SCHEMA_PRESSURE)                       \
	X(memory, pressure_full, SHARE, SCHEMA_PRESSURE | SCHEMA_FULL)         \
	X(io, pressure_some, SHARE, SCHEMA_PRESSURE)                           \
	X(io, pressure_full, SHARE, SCHEMA_PRESSURE | SCHEMA_FULL)

/* X(field, unit, parts): the same of a VM pod. Memory is that of anonymous,
 * shared and huge pages. */
#define ROLLUP_POD_FIELDS(X)                                                   \
	X(used_cores, CORES, SCHEMA_CPU | SCHEMA_POD_CPU)                      \
	X(contention, SHARE, SCHEMA_POD_CPU)                                   \
	X(memory_bytes, BYTES, SCHEMA_POD_MEMORY)                              \
	X(working_set_bytes, BYTES, SCHEMA_POD_MEMORY)

enum rollup_vm_field {
#define X(field, ...) ROLLUP_VM_##field,
	ROLLUP_POD_FIELDS(X)
#undef X
		ROLLUP_VM_FIELDS,
};

enum rollup_node_field {
#define X(group, field, ...) ROLLUP_##group##_##field,
	ROLLUP_NODE_FIELDS(X)
#undef X
		ROLLUP_FIELDS, /* of a node; pods have fewer */
};

struct rollup_figure {
	double mean, max, p95; /* NAN: unknown */
};

struct rollup_row {
	uint64_t from_ms;    /* a whole minute or hour of unix time */
	uint32_t covered_ms; /* by intervals between reports */
	/* By rollup_node_field, or the first ROLLUP_VM_FIELDS by
	 * rollup_vm_field. */
	struct rollup_figure figures[ROLLUP_FIELDS];
};

struct rollup;

enum {
	/* Pods of a node in one hour. A kubelet has a few hundred at most, and
	 * starts less than one a second. */
	ROLLUP_PODS_MAX = 4096,
	/* A sample is the part of an interval in one minute, and takes 36
	 * bytes. The limit is for all pods together: 560 VMs with a report each
	 * second. */
	ROLLUP_SAMPLES_MAX = 1 << 21,
	/* The node has as many, and so has a pod: 18 reports a second. */
	ROLLUP_SERIES_SAMPLES_MAX = 1 << 16,
};

/* The hour of unix time that begins at hour_ms; has_pods: with the node's pods.
 * Never NULL. */
struct rollup *rollup_new(uint64_t hour_ms, bool has_pods);
void rollup_free(struct rollup *rollup); /* NULL is fine */

/* Adds a report, which is moved away. Reports come by rising sample time, from
 * ROLLUP_MARGIN_MS before the hour to ROLLUP_MARGIN_MS after it, so that the
 * hour is complete. */
void rollup_add(struct rollup *rollup, const uint8_t *run_id,
	uint64_t sample_ms, struct report *report);

enum { ROLLUP_MARGIN_MS = 60000 };

/* True: the node has more than ROLLUP_SERIES_SAMPLES_MAX samples. The rollup is
 * not complete, and ignores more reports. */
bool rollup_is_too_large(const struct rollup *rollup);

/* The samples of pods that are left out. */
uint64_t rollup_left_out(const struct rollup *rollup);

/* The memory that the rollup takes, nearly. */
size_t rollup_bytes(const struct rollup *rollup);

/* Series 0 is the node; the others are its pods. */
size_t rollup_series_count(const struct rollup *rollup);
const char *rollup_series_uid(const struct rollup *rollup, size_t series);

/* The rows of a series, minutes or the hour. */
enum { ROLLUP_ROWS = 60 };
size_t rollup_rows(struct rollup_row rows[ROLLUP_ROWS],
	const struct rollup *rollup, size_t series, bool is_hour);
