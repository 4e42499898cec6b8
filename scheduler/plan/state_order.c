#include "scheduler/plan/state_order.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double state_order_load(const struct state *s, size_t node,
	const struct state_vm *vm)
{
	const struct state_node *at = &s->nodes[node];
	double used = at->used + (vm == NULL ? 0 : vm->cores);
	double shared = at->shared - (vm == NULL ? 0 : vm->dedicated);

	if (!at->has_load) {
		return (double)NAN;
	}
	if (shared <= 0) {
		return used > 0 ? (double)INFINITY : 0;
	}
	return used > 0 ? used / shared : 0;
}

static int compare_names(const void *a, const void *b, void *owner)
{
	const struct state *s = owner;
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;

	return strcmp(s->nodes[left].node->name, s->nodes[right].node->name);
}

/* Rounded, because sums of doubles depend on their order. Nodes without a load
 * come last. */
static long load_rank(const struct state *s, size_t node)
{
	double load = state_order_load(s, node, NULL);

	return isnan(load) || load > 1000 ? 1000000000 : lround(load * 1e4);
}

static int compare_loads(const void *a, const void *b, void *owner)
{
	const struct state *s = owner;
	long left = load_rank(s, *(const size_t *)a);
	long right = load_rank(s, *(const size_t *)b);

	return left != right ? (left > right) - (left < right)
			     : compare_names(a, b, owner);
}

/* Few nodes have changed since the last time: takes the time of a look at
 * each, unlike qsort(). */
static void sort_again(struct state *s, size_t *nodes, size_t count,
	int (*compare)(const void *a, const void *b, void *owner))
{
	for (size_t i = 1; i < count; i++) {
		size_t node = nodes[i];
		size_t at = i;

		while (at > 0 && compare(&nodes[at - 1], &node, s) > 0) {
			nodes[at] = nodes[at - 1];
			at--;
		}
		nodes[at] = node;
	}
}

static void note_places(struct state *s)
{
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[s->by_load[i]].place = i;
	}
}

void state_order_begin(struct state *s)
{
	s->by_name = xcalloc(s->node_count + 1, sizeof(size_t));
	for (size_t i = 0; i < s->node_count; i++) {
		s->by_name[i] = i;
	}
	s->by_load = xmemdup(s->by_name, (s->node_count + 1) * sizeof(size_t));
	qsort_r(s->by_name, s->node_count, sizeof(size_t), compare_names, s);
	qsort_r(s->by_load, s->node_count, sizeof(size_t), compare_loads, s);
	note_places(s);
}

void state_order_by_load(struct state *s)
{
	sort_again(s, s->by_load, s->node_count, compare_loads);
	note_places(s);
}

static int compare_places(const void *a, const void *b, void *owner)
{
	const struct state *s = owner;
	size_t left = s->nodes[*(const size_t *)a].place;
	size_t right = s->nodes[*(const size_t *)b].place;

	return (left > right) - (left < right);
}

void state_order_some(struct state *s, size_t *nodes, size_t count)
{
	sort_again(s, nodes, count, compare_places);
}
