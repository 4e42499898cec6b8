/* The expected load of each node, and the nodes in its order. Pure. */
#pragma once

#include "scheduler/plan/state.h"

#include <stddef.h>

/* The share of the node's shared cores that it is expected to use with the VM;
 * NAN: unknown. vm NULL: as it is. */
double state_order_load(const struct state *s, size_t node,
	const struct state_vm *vm);

/* Makes by_name and by_load; of state_begin(). */
void state_order_begin(struct state *s);
/* Sorts by_load again: the least load of now at first, then by name. */
void state_order_by_load(struct state *s);
/* Sorts again some nodes that were in the order of by_load. */
void state_order_some(struct state *s, size_t *nodes, size_t count);
