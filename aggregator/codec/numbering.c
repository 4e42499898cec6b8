#include "aggregator/codec/numbering.h"

#include "lib/memory.h"

#include <stdlib.h>

static const size_t not_changed = SIZE_MAX;

struct sorting {
	const void *list;
	numbering_compare compare;
	size_t steps;
};

static int compare(struct sorting *s, size_t a, size_t b)
{
	s->steps++;
	return s->compare(s->list, a, b);
}

/* Among equal entries, the first one comes first. */
static int by_entry(const void *a, const void *b, void *owner)
{
	const size_t *x = a;
	const size_t *y = b;
	int order = compare(owner, *x, *y);

	return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* The entries that differ from the one before. Most lists have one: an agent
 * runs for days. */
static size_t list_changes(size_t *changes, size_t count, struct sorting *s)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(s, i - 1, i) != 0) {
			changes[found++] = i;
		}
	}
	return found;
}

/* Sets firsts[i] to the first entry that is equal to entry i, for each of the
 * changes. */
static void find_firsts(size_t *firsts, size_t *changes, size_t count,
	struct sorting *s)
{
	size_t first = 0;

	qsort_r(changes, count, sizeof(*changes), by_entry, s);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(s, changes[i - 1], changes[i]) != 0) {
			first = changes[i];
		}
		firsts[changes[i]] = first;
	}
}

/* The first equal entry of each change; for other entries, not_changed. */
static size_t *firsts_of(size_t count, struct sorting *s)
{
	scoped_free size_t *changes = xcalloc(count, sizeof(*changes));
	size_t change_count = list_changes(changes, count, s);
	size_t *firsts = xrealloc(NULL, count, sizeof(*firsts));

	for (size_t i = 0; i < count; i++) {
		firsts[i] = not_changed;
	}
	find_firsts(firsts, changes, change_count, s);
	return firsts;
}

void numbering_init(struct numbering *out, uint64_t *numbers, const void *list,
	size_t count, numbering_compare compare_entries)
{
	struct sorting sorting = { list, compare_entries, 0 };
	size_t *firsts = firsts_of(count, &sorting);

	*out = (struct numbering){ .steps = sorting.steps };
	for (size_t i = 0; i < count; i++) {
		if (firsts[i] == not_changed) {
			numbers[i] = numbers[i - 1];
		} else if (firsts[i] < i) {
			numbers[i] = numbers[firsts[i]];
		} else {
			numbers[i] = out->count;
			firsts[out->count] = i; /* at most i: it was read */
			out->count++;
		}
	}
	out->firsts = firsts;
}

void numbering_fini(struct numbering *numbering)
{
	free(numbering->firsts);
}
