/* Numbers for equal entries of a list, such as run ids: the first entry gets 0,
 * each entry that is equal to an earlier one gets its number, and any other the
 * next number. Pure.
 *
 * Agents choose the entries. Sorting bounds the cost of any list, which a hash
 * table does only as long as nobody knows its hash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct numbering {
	size_t *firsts; /* owned; by number: the first entry that has it */
	size_t count;	/* numbers */
	size_t steps;	/* the cost: comparisons of two entries */
};

/* As memcmp(), of two entries of the list. */
typedef int (*numbering_compare)(const void *list, size_t a, size_t b);

/* numbers get the number of each of the `count` entries. */
void numbering_init(struct numbering *out, uint64_t *numbers, const void *list,
	size_t count, numbering_compare compare);
void numbering_fini(struct numbering *numbering);
