/* The second-best target of a move, and announcements: what the sentence of a
 * move says beside its figures. Pure, but for the caller's filter. */
#pragma once

#include "scheduler/rebalance/fleet.h"

#include <stdbool.h>
#include <stddef.h>

struct second_target {
	bool exists;
	size_t node;	      /* index in the fleet */
	double before, after; /* its shortage, in core-steps, as of the move */
};

/* The node where the VM of the move costs least, but for the move's own target;
 * equal costs: the first by name. */
struct second_target second_target_find(const struct fleet *fleet,
	const struct fleet_move *move, fleet_may_run may_run, void *owner);

/* Appends to the sentence of the move. */
void second_target_describe(char *sentence, size_t size,
	const struct fleet *fleet, const struct fleet_move *move,
	const struct second_target *next);
