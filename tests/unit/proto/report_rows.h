/* The rows of proto/report_fields.h for tests, with their places in struct
 * report, in struct vm_pod or in the entry of a list. */
#pragma once

#include "lib/memory.h"
#include "proto/report.h"
#include "tests/support/random.h"

#include <string.h>

struct report_row {
	const char *name; /* without the path */
	enum report_kind kind;
	size_t offset, size;
	uint64_t most;
};

struct report_rows {
	const struct report_row *list;
	size_t count;
};

enum report_list { OF_NODE, OF_POD, OF_HUGEPAGES, OF_NUMA, OF_HUGETLB };

#define REPORT_ROW(type, path, name, kind)                                     \
	{ #name, REPORT_##kind, offsetof(type, path name),                     \
		sizeof(((type *)NULL)->path name), REPORT_MOST(kind) },
#define NODE_ROW(path, kind, name, ...)                                        \
	REPORT_ROW(struct report, path, name, kind)
#define STRUCT_ROW(type, kind, name, ...) REPORT_ROW(type, , name, kind)
#define PSI_ROWS(type, path)                                                   \
	REPORT_ROW(type, path, state, STATE)                                   \
	REPORT_ROW(type, path, some_us, U64)                                   \
	REPORT_ROW(type, path, full_us, U64)
#define NODE_PSI(path, ...) PSI_ROWS(struct report, path.)
#define POD_PSI(path, ...) PSI_ROWS(struct vm_pod, path.)
#define NODE_ROWS                                                              \
	REPORT_FIELDS(NODE_ROW)                                                \
	REPORT_PSI(NODE_PSI)
#define POD_ROWS                                                               \
	VM_POD_FIELDS(STRUCT_ROW, struct vm_pod)                               \
	VM_POD_PSI(POD_PSI)

static inline struct report_rows report_rows(enum report_list of)
{
	static const struct report_row node[] = { NODE_ROWS };
	static const struct report_row pod[] = { POD_ROWS };
	static const struct report_row hugepages[] = { HUGEPAGES_FIELDS(
		STRUCT_ROW, struct hugepages) };
	static const struct report_row numa[] = { NUMA_HUGEPAGES_FIELDS(
		STRUCT_ROW, struct numa_hugepages) };
	static const struct report_row hugetlb[] = { HUGETLB_USE_FIELDS(
		STRUCT_ROW, struct hugetlb_use) };
	static const struct report_rows all[] = {
		[OF_NODE] = { node, count_of(node) },
		[OF_POD] = { pod, count_of(pod) },
		[OF_HUGEPAGES] = { hugepages, count_of(hugepages) },
		[OF_NUMA] = { numa, count_of(numa) },
		[OF_HUGETLB] = { hugetlb, count_of(hugetlb) },
	};

	return all[of];
}

/* Absent, 0 or any other value of the row's kind. */
static inline uint64_t report_row_value(const struct report_row *row,
	uint64_t *seed)
{
	uint32_t shift = random_pick(seed, 64);
	uint64_t any = random_next(seed) >> shift;
	double share = (double)random_pick(seed, 1000000) / 7;

	if (row->kind == REPORT_DOUBLE) {
		share = random_pick(seed, 3) == 0 ? NAN : share;
		memcpy(&any, &share, sizeof(any));
		return any;
	}
	if (row->most < UINT32_MAX) {
		return any % (row->most + 1);
	}
	switch (random_pick(seed, 4)) {
	case 0:
		return row->size == 4 || row->kind == REPORT_PLAIN_U64
			? 0
			: REPORT_UNKNOWN;
	case 1:
		return random_pick(seed, 2);
	default:
		return row->size == 4 ? any >> 33 : any;
	}
}

/* Gives one row of `one_in` another value. */
static inline void report_rows_fill(void *base, enum report_list of,
	uint64_t *seed, uint32_t one_in)
{
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		uint64_t value = report_row_value(&rows.list[i], seed);

		/* Little endian: the first bytes are the low ones. */
		if (random_pick(seed, one_in) == 0) {
			memcpy((char *)base + rows.list[i].offset, &value,
				rows.list[i].size);
		}
	}
}
