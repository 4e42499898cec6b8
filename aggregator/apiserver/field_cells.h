/* Tables whose columns the client chooses: the parameter fields of a list. The
 * cells are the fields' JSON values, null when not known, and a row has nothing
 * but its cells. */
#pragma once

#include "aggregator/apiserver/api_types.h"
#include "lib/error.h"

enum { FIELD_CELLS_MAX = 32 };

struct field_cells;

/* text: names with commas between them, such as
 * "metadata.name,status.cpu.usedCores"; the caller frees *out. -EINVAL: one is
 * no field of the kind, or there are more than FIELD_CELLS_MAX. */
must_check int field_cells_parse(struct field_cells **out, const char *text,
	enum api_kind kind, struct error *err);
void field_cells_free(struct field_cells *cells); /* NULL is fine */

/* The text that begins the Table, up to its first row; api_end_list() ends it.
 */
void field_cells_begin(struct json *j, const struct field_cells *cells);

/* An object as a row, of which only the names and the object are read. */
void field_cells_write(struct json *j, const struct field_cells *cells,
	const struct api_item *item);
