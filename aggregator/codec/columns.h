/* Members of one kind of struct over many rows, read from columns. Pure.
 *
 * Columns that nobody wants are passed over. What is the same in all rows, and
 * most members are, is set once in a pattern that each row begins with. */
#pragma once

#include "aggregator/codec/column.h"
#include "aggregator/codec/report_schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct member {
	const struct field *field;
	const uint64_t *values; /* one a row */
};

/* What differs from row to row; zeroed holds nothing. */
struct members {
	struct member *list; /* owned */
	size_t count;
	uint64_t *values; /* owned */
};

/* What is wanted of how many rows. */
struct members_want {
	unsigned int parts; /* enum fields_part */
	size_t rows;	    /* 0: there are no columns */
};

/* Reads a column for each of fields, in their order. pattern is a struct that
 * fields are of; what is not wanted keeps what it has there. out is freed
 * whatever comes of it. False: as column_read(). */
bool members_read(struct members *out, void *pattern, struct fields fields,
	const struct members_want *want, struct column_presence *presence,
	struct column_bytes *in);

void members_fini(struct members *members);

/* Completes a copy of the pattern. False: a value is no such value. */
bool members_set(const struct members *members, void *base, size_t row,
	uint64_t monotonic_us);
