/* The members of reports and VM pods as columns of integers: what a chunk
 * stores of each, in its order. Pure.
 *
 * The lists are part of the stored format: a new member goes to the end of its
 * list, and raises CHUNK_VERSION. */
#pragma once

#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_U64,
	FIELD_U32, /* enums, too */
	FIELD_BOOL,
	/* Not negative; NAN is REPORT_UNKNOWN. Hundredths, which /proc/loadavg
	 * has, are k; others are 2^63 + their bits. */
	FIELD_DOUBLE,
	/* As FIELD_U64, minus the same report's monotonic_us: clocks that run
	 * alike. */
	FIELD_CLOCK,
};

/* What a reader may want of many reports: the rest need not be decoded. The
 * times, the run and the boot are always there. */
enum fields_part {
	FIELDS_CPU = 1 << 0,	  /* time used, CPUs online */
	FIELDS_PRESSURE = 1 << 1, /* some, of the node */
	FIELDS_FULL = 1 << 2,	  /* of memory and io; with the above */
	FIELDS_MEMORY = 1 << 3,	  /* total, available, the cgroup mode */
	FIELDS_REST = 1 << 4,
	/* Of pods; without one of these no pod is there at all. */
	FIELDS_POD_CPU = 1 << 5,    /* usage, throttling, cpu pressure */
	FIELDS_POD_MEMORY = 1 << 6, /* what it holds, its working set */
	FIELDS_POD_REST = 1 << 7,
	FIELDS_PODS = FIELDS_POD_CPU | FIELDS_POD_MEMORY | FIELDS_POD_REST,
	/* All that rates are made of. */
	FIELDS_RATES = FIELDS_CPU | FIELDS_PRESSURE | FIELDS_FULL |
		FIELDS_MEMORY | FIELDS_POD_CPU | FIELDS_POD_MEMORY,
	FIELDS_ALL = FIELDS_RATES | FIELDS_REST | FIELDS_POD_REST,
};

struct field {
	size_t offset;
	enum field_kind kind;
	uint64_t most;	   /* greater ones are damage */
	unsigned int part; /* enum fields_part; 0: always wanted */
};

/* A list of them. */
struct fields {
	const struct field *list;
	size_t count;
};

extern const struct fields fields_report, fields_hugepages, fields_numa,
	fields_vm, fields_hugetlb;

/* base is the struct that the list is of; monotonic_us is the report's. */
uint64_t field_get(const struct field *field, const void *base,
	uint64_t monotonic_us);

/* False: it is no such value. */
bool field_set(const struct field *field, void *base, uint64_t monotonic_us,
	uint64_t value);

/* Sets all members of a struct; those of one follow each other `stride` values
 * apart. False: one of them is no such value. */
bool fields_set(struct fields fields, void *base, const uint64_t *values,
	size_t stride, uint64_t monotonic_us);
