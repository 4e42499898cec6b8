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

struct field {
	size_t offset;
	enum field_kind kind;
	uint64_t most; /* greater ones are damage */
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

/* Sets all members of a struct; those of one follow each other `stride` values
 * apart. False: one of them is no such value. */
bool fields_set(struct fields fields, void *base, const uint64_t *values,
	size_t stride, uint64_t monotonic_us);
