#include "lib/id_list.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

void id_list_sort(uint32_t *ids, size_t count)
{
	if (count > ID_LIST_WALKED_MAX) {
		qsort(ids, count, sizeof(*ids), compare);
	}
}

bool id_list_search(const uint32_t *ids, size_t count, uint32_t id)
{
	return bsearch(&id, ids, count, sizeof(*ids), compare) != NULL;
}
