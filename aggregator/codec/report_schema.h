/* The stored columns of reports and VM pods: which member is in which column
 * of a chunk, and as which integer. Pure.
 *
 * The columns are those of proto/report_fields.h. They are part of the stored
 * format: a new column goes to the end, and raises CHUNK_VERSION. */
#pragma once

#include "proto/report.h"

/* The parts of reports that a reader can ask for. Columns of other parts are
 * not decoded. Times, runs and boots are always decoded. */
enum schema_part {
	SCHEMA_ALWAYS = 0,
	SCHEMA_CPU = 1 << 0,	  /* time used, CPUs online */
	SCHEMA_PRESSURE = 1 << 1, /* "some" of the node */
	SCHEMA_FULL = 1 << 2,	  /* "full" of memory and io */
	SCHEMA_MEMORY = 1 << 3,	  /* total, available, the cgroup mode */
	SCHEMA_REST = 1 << 4,
	/* Parts of pods. Without any, reports are read without pods. */
	SCHEMA_POD_CPU = 1 << 5,    /* usage, throttling, cpu pressure */
	SCHEMA_POD_MEMORY = 1 << 6, /* working set, anonymous, huge pages */
	SCHEMA_POD_REST = 1 << 7,
	SCHEMA_PODS = SCHEMA_POD_CPU | SCHEMA_POD_MEMORY | SCHEMA_POD_REST,
	/* The input of rates. */
	SCHEMA_RATES = SCHEMA_CPU | SCHEMA_PRESSURE | SCHEMA_FULL |
		SCHEMA_MEMORY | SCHEMA_POD_CPU | SCHEMA_POD_MEMORY,
	SCHEMA_ALL = SCHEMA_RATES | SCHEMA_REST | SCHEMA_POD_REST,
};

struct schema_field {
	size_t offset;
	/* A double is not negative. As an integer, NAN is REPORT_UNKNOWN, a
	 * multiple of 0.01, as in /proc/loadavg, is the number of hundredths,
	 * and any other value is 2^63 + its bits. */
	enum report_kind kind;
	unsigned int part; /* enum schema_part */
	uint64_t most;	   /* a greater value is damage */
};

/* The columns of a struct, in their order. */
struct schema_fields {
	const struct schema_field *list;
	size_t count;
};

extern const struct schema_fields schema_report, schema_hugepages, schema_numa,
	schema_vm, schema_hugetlb;

/* base is the struct that the list is of; monotonic_us is the report's. */
uint64_t schema_field_get(const struct schema_field *field, const void *base,
	uint64_t monotonic_us);

/* False: the value is greater than the field's `most`. */
bool schema_field_set(const struct schema_field *field, void *base,
	uint64_t monotonic_us, uint64_t value);

/* Sets all members of a struct. The values of one struct are `stride` values
 * apart. False: a value is greater than its field's `most`. */
bool schema_set(struct schema_fields fields, void *base, const uint64_t *values,
	size_t stride, uint64_t monotonic_us);
