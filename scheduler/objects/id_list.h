/* Lists of ids of an interner. A long list is sorted, so that a decision that
 * looks for ids in it on thousands of nodes stays fast. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To be called once the list is complete. Short lists keep their order. */
void id_list_sort(uint32_t *ids, size_t count);

bool id_list_has(const uint32_t *ids, size_t count, uint32_t id);
