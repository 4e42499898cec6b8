#include "aggregator/codec/report_schema.h"

#include "lib/memory.h"

#include <string.h>

_Static_assert(sizeof(enum source_state) == 4 && sizeof(size_t) == 8,
	"fields are read by these sizes");

static const uint64_t top_bit = UINT64_C(1) << 63;

#define COLUMN(number, type, member, kind, most, part)                         \
	[number] = { offsetof(type, member), REPORT_##kind, SCHEMA_##part,     \
		most },

/* The rows of the table, and the lengths of lists. */
#define NODE_ROW(path, kind, name, number, part, ...)                          \
	COLUMN(number, struct report, path name, kind, REPORT_MOST(kind), part)
#define STRUCT_ROW(type, kind, name, number, part, ...)                        \
	COLUMN(number, type, name, kind, REPORT_MOST(kind), part)
#define PSI_ROW(type, path, first, part, full_part)                            \
	COLUMN(first, type, path.state, STATE, SOURCE_ERROR, part)             \
	COLUMN((first) + 1, type, path.some_us, U64, UINT64_MAX, part)         \
	COLUMN((first) + 2, type, path.full_us, U64, UINT64_MAX, full_part)
#define NODE_PSI(path, first, part, full_part, ...)                            \
	PSI_ROW(struct report, path, first, part, full_part)
#define POD_PSI(path, first, part, full_part, ...)                             \
	PSI_ROW(struct vm_pod, path, first, part, full_part)
#define LENGTH(number, type, member, most, part)                               \
	COLUMN(number, type, member, PLAIN_U64, most, part)

#define NODE_COLUMNS                                                           \
	REPORT_FIELDS(NODE_ROW)                                                \
	REPORT_PSI(NODE_PSI)                                                   \
	LENGTH(61, struct report, hugepages_count, REPORT_HUGEPAGE_SIZES,      \
		REST)                                                          \
	LENGTH(62, struct report, numa_hugepages_count, REPORT_NUMA_HUGEPAGES, \
		REST)

#define POD_COLUMNS                                                            \
	VM_POD_FIELDS(STRUCT_ROW, struct vm_pod)                               \
	VM_POD_PSI(POD_PSI)                                                    \
	LENGTH(17, struct vm_pod, hugetlb_count, REPORT_HUGEPAGE_SIZES,        \
		POD_MEMORY)

static const struct schema_field report[] = { NODE_COLUMNS };
static const struct schema_field hugepages[] = { HUGEPAGES_FIELDS(STRUCT_ROW,
	struct hugepages) };
static const struct schema_field numa[] = { NUMA_HUGEPAGES_FIELDS(STRUCT_ROW,
	struct numa_hugepages) };
static const struct schema_field vm[] = { POD_COLUMNS };
static const struct schema_field hugetlb[] = { HUGETLB_USE_FIELDS(STRUCT_ROW,
	struct hugetlb_use) };

const struct schema_fields schema_report = { report, count_of(report) };
const struct schema_fields schema_hugepages = { hugepages,
	count_of(hugepages) };
const struct schema_fields schema_numa = { numa, count_of(numa) };
const struct schema_fields schema_vm = { vm, count_of(vm) };
const struct schema_fields schema_hugetlb = { hugetlb, count_of(hugetlb) };

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t from_double(double value)
{
	/* Up to here hundredths are told apart with bits to spare. */
	const double hundredths_max = 1e13;
	uint64_t k;

	if (isnan(value)) {
		return REPORT_UNKNOWN;
	}
	if (value >= 0 && value < hundredths_max) {
		k = (uint64_t)(value * 100 + 0.5);
		if (bits_of((double)k / 100) == bits_of(value)) {
			return k;
		}
	}
	return top_bit | bits_of(value);
}

static double to_double(uint64_t value)
{
	double out;
	uint64_t bits = value & ~top_bit;

	if (value == REPORT_UNKNOWN) {
		return NAN;
	}
	if ((value & top_bit) == 0) {
		return (double)value / 100;
	}
	/* 0 is a hundredth, so that no bits at all are -0. */
	bits = bits == 0 ? top_bit : bits;
	memcpy(&out, &bits, sizeof(out));
	return out;
}

uint64_t schema_field_get(const struct schema_field *field, const void *base,
	uint64_t monotonic_us)
{
	const char *at = (const char *)base + field->offset;
	uint64_t wide;
	uint32_t narrow;
	double real;

	/* Most fields are of this kind. */
	if (field->kind == REPORT_U64) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	switch (field->kind) {
	case REPORT_PLAIN_U64:
	case REPORT_CLOCK:
		memcpy(&wide, at, sizeof(wide));
		return wide - (field->kind == REPORT_CLOCK ? monotonic_us : 0);
	case REPORT_BOOL:
		return *(const bool *)at ? 1 : 0;
	case REPORT_DOUBLE:
		memcpy(&real, at, sizeof(real));
		return from_double(real);
	default:
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
}

bool schema_field_set(const struct schema_field *field, void *base,
	uint64_t monotonic_us, uint64_t value)
{
	char *at = (char *)base + field->offset;
	uint32_t narrow = (uint32_t)value;
	double real;

	if (value > field->most) {
		return false;
	}
	switch (field->kind) {
	case REPORT_U64:
	case REPORT_PLAIN_U64:
	case REPORT_CLOCK:
		value += field->kind == REPORT_CLOCK ? monotonic_us : 0;
		memcpy(at, &value, sizeof(value));
		return true;
	case REPORT_BOOL:
		*(bool *)at = value == 1;
		return true;
	case REPORT_DOUBLE:
		real = to_double(value);
		memcpy(at, &real, sizeof(real));
		return true;
	default:
		memcpy(at, &narrow, sizeof(narrow));
		return true;
	}
}

bool schema_set(struct schema_fields fields, void *base, const uint64_t *values,
	size_t stride, uint64_t monotonic_us)
{
	for (size_t f = 0; f < fields.count; f++) {
		if (!schema_field_set(&fields.list[f], base, monotonic_us,
			    values[f * stride])) {
			return false;
		}
	}
	return true;
}
