/* A table in kubectl's layout: columns three blanks apart, headers in
 * capitals. Cells are escaped, so one cell stays one cell. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
	size_t columns;
	char **cells; /* row by row; the first row is the header */
	size_t count, capacity;
};

/* headers end with NULL; at most TABLE_COLUMNS_MAX. */
void table_init(struct table *table, const char *const *headers);
void table_fini(struct table *table); /* zeroed is fine */

/* The next cell, escaped and copied. NULL and "" are "-". */
void table_cell(struct table *table, const char *text);

/* Appends the table to out. */
void table_write(struct buffer *out, const struct table *table,
	bool has_headers);
