/* Columns of one kind of struct over many rows. Pure.
 *
 * Columns of parts that are not wanted are skipped. Most members have the same
 * value in all rows: these are set once, in a pattern that is copied to begin
 * each row. */
#pragma once

#include "aggregator/codec/column.h"
#include "aggregator/codec/report_schema.h"

struct column_member {
	const struct schema_field *field;
	const uint64_t *values; /* one a row */
};

/* The members that differ from row to row; zeroed holds none. */
struct columns {
	struct column_member *list; /* owned */
	size_t count;
	uint64_t *values; /* owned */
	size_t bytes;	  /* of both */
};

struct columns_selection {
	unsigned int parts; /* enum schema_part */
	size_t rows;	    /* 0: there are no columns */
};

/* Reads a column for each of fields, in their order. pattern is a struct that
 * fields are of; members that are not wanted keep their values there. The
 * caller frees out in any case. False: as column_read(). */
bool columns_read(struct columns *out, void *pattern,
	struct schema_fields fields, const struct columns_selection *selection,
	struct column_presence *presence, struct column_bytes *in);

void columns_fini(struct columns *columns);

/* Completes a copy of the pattern. False: the member cannot have the value. */
bool columns_set(const struct columns *columns, void *base, size_t row,
	uint64_t monotonic_us);
