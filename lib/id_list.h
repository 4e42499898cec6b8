/* Lists of ids of an interner. A long list is sorted, so that a decision that
 * looks for ids in it on thousands of nodes stays fast. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To be called once the list is complete. Short lists keep their order. */
void id_list_sort(uint32_t *ids, size_t count);

/* Up to this length a walk is as fast as a search. */
enum { ID_LIST_WALKED_MAX = 16 };

/* For sorted lists. */
bool id_list_search(const uint32_t *ids, size_t count, uint32_t id);

static inline bool id_list_has(const uint32_t *ids, size_t count, uint32_t id)
{
	if (count > ID_LIST_WALKED_MAX) {
		return id_list_search(ids, count, id);
	}
	for (size_t i = 0; i < count; i++) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}
