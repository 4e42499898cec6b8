#include "aggregator/codec/columns.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_wanted(const struct field *field, unsigned int parts)
{
	return field->part == 0 || (field->part & parts) != 0;
}

static size_t count_wanted(struct fields fields, unsigned int parts)
{
	size_t count = 0;

	for (size_t f = 0; f < fields.count; f++) {
		count += is_wanted(&fields.list[f], parts) ? 1 : 0;
	}
	return count;
}

/* True: it is in the pattern now. Clocks run with each row's own, and what is
 * no value of the member is each row's fault. */
static bool set_pattern(void *pattern, const struct field *field,
	struct column_bytes *in)
{
	struct column_bytes rest = *in;
	uint64_t value;

	if (field->kind == FIELD_CLOCK || !column_read_same(&value, &rest) ||
		!field_set(field, pattern, 0, value)) {
		return false;
	}
	*in = rest;
	return true;
}

bool members_read(struct members *out, void *pattern, struct fields fields,
	const struct members_want *want, struct column_presence *presence,
	struct column_bytes *in)
{
	const size_t wanted = count_wanted(fields, want->parts);
	bool is_good = true;

	if (want->rows == 0) {
		return true;
	}
	out->list = xcalloc(wanted, sizeof(*out->list));
	out->values = xrealloc(NULL, wanted * want->rows, sizeof(uint64_t));
	for (size_t f = 0; is_good && f < fields.count; f++) {
		const struct field *field = &fields.list[f];
		uint64_t *values = out->values + out->count * want->rows;

		if (!is_wanted(field, want->parts)) {
			is_good = column_skip(want->rows, presence, in);
		} else if (!set_pattern(pattern, field, in)) {
			is_good = column_read(values, want->rows, presence, in);
			out->list[out->count] =
				(struct member){ field, values };
			out->count++;
		}
	}
	return is_good;
}

void members_fini(struct members *members)
{
	free(members->list);
	free(members->values);
	*members = (struct members){ 0 };
}

/* Most are plain numbers, and there are many. */
static inline bool set(const struct field *field, void *base,
	uint64_t monotonic_us, uint64_t value)
{
	if (field->kind != FIELD_U64 || value > field->most) {
		return field_set(field, base, monotonic_us, value);
	}
	memcpy((char *)base + field->offset, &value, sizeof(value));
	return true;
}

bool members_set(const struct members *members, void *base, size_t row,
	uint64_t monotonic_us)
{
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->list[i];

		if (!set(member->field, base, monotonic_us,
			    member->values[row])) {
			return false;
		}
	}
	return true;
}
