/* The state of a simulation: the cluster as the scheduler sees it, and the VMs
 * of the scenario. */
#pragma once

#include "lib/map.h"
#include "scheduler/cluster/cluster.h"
#include "simulate/scenario.h"
#include "simulate/simulated_load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A VM of the scenario. */
struct simulated_vm {
	struct pod *pod;   /* owned */
	struct node *node; /* where it runs, or NULL */
	size_t node_index;
	bool has_waited;
	/* It is copied from `source` during this share of the step; 0: it is
	 * not in flight. */
	double copy_share;
	size_t source;
};

struct simulated_world {
	const struct scenario *scenario;
	struct interner *interner;
	struct cluster cluster;	      /* its nodes in the scenario's order */
	struct simulated_load *loads; /* owned; one per node */
	struct simulated_vm *vms;     /* owned; one per VM */
	size_t *alive;		      /* VMs that arrived and have not left */
	size_t alive_count;
};

static inline int64_t simulated_world_us(const struct simulated_world *world,
	size_t steps)
{
	return (int64_t)((double)steps * world->scenario->step_s * 1e6 + 0.5);
}
