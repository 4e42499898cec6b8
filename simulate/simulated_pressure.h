/* Moves for memory in a simulated day: see rebalance/pressure.h.
 *
 * Only scenarios whose VMs have memory_percent have them. In the others VMs use
 * exactly what they request, which never exceeds a node. */
#pragma once

#include "scheduler/rebalance/pressure.h"
#include "simulate/simulated_world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simulated_pressure;

/* NULL: the scenario has no memory use. world is borrowed. */
struct simulated_pressure *simulated_pressure_new(
	const struct simulated_world *world);
void simulated_pressure_free(struct simulated_pressure *pressure); /* NULL */

/* A node was observed; pressure may be NULL, here and below. */
void simulated_pressure_note(struct simulated_pressure *pressure, size_t node,
	const struct node_load *load, int64_t now_us);

/* A move away from the node was ordered or ended. */
void simulated_pressure_moved(struct simulated_pressure *pressure, size_t node,
	int64_t now_us);

/* Which node may run which VM. */
struct simulated_filters {
	fleet_may_run may_run;
	void *owner;
};

/* The next order of this step. False: no node is in trouble, or no VM can
 * leave. */
bool simulated_pressure_next(struct simulated_pressure *pressure,
	const struct fleet *fleet, const struct simulated_filters *filters,
	int64_t now_us, struct fleet_move *out, enum move_reason *reason);
