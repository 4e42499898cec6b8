#include "scheduler/objects/id_list.h"

#include <stdlib.h>

/* Up to this length a walk is as fast as a search. */
enum { WALKED_MAX = 16 };

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

void id_list_sort(uint32_t *ids, size_t count)
{
	if (count > WALKED_MAX) {
		qsort(ids, count, sizeof(*ids), compare);
	}
}

bool id_list_has(const uint32_t *ids, size_t count, uint32_t id)
{
	if (count > WALKED_MAX) {
		return bsearch(&id, ids, count, sizeof(*ids), compare) != NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}
