#include "aggregator/codec/columns.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_wanted(const struct schema_field *field, unsigned int parts)
{
	return field->part == 0 || (field->part & parts) != 0;
}

static size_t count_wanted(struct schema_fields fields, unsigned int parts)
{
	size_t count = 0;

	for (size_t f = 0; f < fields.count; f++) {
		count += is_wanted(&fields.list[f], parts) ? 1 : 0;
	}
	return count;
}

/* True: all rows have one value, which is in the pattern now. A clock differs
 * from row to row. A value that the member cannot have is reported when a row
 * is read. */
static bool set_pattern(void *pattern, const struct schema_field *field,
	struct column_bytes *in)
{
	struct column_bytes rest = *in;
	uint64_t value;

	if (field->kind == REPORT_CLOCK || !column_read_same(&value, &rest) ||
		!schema_field_set(field, pattern, 0, value)) {
		return false;
	}
	*in = rest;
	return true;
}

/* Allocates for the first member: a chunk may have thousands of pods that are
 * in one report each, and have none. */
static uint64_t *add_member(struct columns *out, size_t wanted, size_t rows,
	const struct schema_field *field)
{
	uint64_t *values;

	if (out->list == NULL) {
		out->list = xcalloc(wanted, sizeof(*out->list));
		out->values = xrealloc(NULL, wanted * rows, sizeof(uint64_t));
		out->bytes =
			wanted * (sizeof(*out->list) + rows * sizeof(uint64_t));
	}
	values = out->values + out->count * rows;
	out->list[out->count++] = (struct column_member){ field, values };
	return values;
}

bool columns_read(struct columns *out, void *pattern,
	struct schema_fields fields, const struct columns_selection *selection,
	struct column_presence *presence, struct column_bytes *in)
{
	const size_t wanted = count_wanted(fields, selection->parts);
	bool is_good = true;

	if (selection->rows == 0) {
		return true;
	}
	for (size_t f = 0; is_good && f < fields.count; f++) {
		const struct schema_field *field = &fields.list[f];

		if (!is_wanted(field, selection->parts)) {
			is_good = column_skip(selection->rows, presence, in);
		} else if (!set_pattern(pattern, field, in)) {
			uint64_t *values =
				add_member(out, wanted, selection->rows, field);

			is_good = column_read(values, selection->rows, presence,
				in);
		}
	}
	return is_good;
}

void columns_fini(struct columns *columns)
{
	free(columns->list);
	free(columns->values);
	*columns = (struct columns){ 0 };
}

/* Most members are of this kind, and have every value. */
static inline bool set(const struct schema_field *field, void *base,
	uint64_t monotonic_us, uint64_t value)
{
	if (field->kind != REPORT_U64) {
		return schema_field_set(field, base, monotonic_us, value);
	}
	memcpy((char *)base + field->offset, &value, sizeof(value));
	return true;
}

bool columns_set(const struct columns *columns, void *base, size_t row,
	uint64_t monotonic_us)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column_member *member = &columns->list[i];

		if (!set(member->field, base, monotonic_us,
			    member->values[row])) {
			return false;
		}
	}
	return true;
}
