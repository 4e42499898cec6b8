/* The state behind struct simulated_moves: the orders write it, and the figures
 * are computed from it. */
#pragma once

#include "simulate/simulated_moves.h"

/* A move that was carried out. */
struct move {
	size_t step, vm, source, target;
	double copy_share;
	enum move_reason reason;
	size_t earlier; /* the VM's move before, or SIZE_MAX */
};

/* A VM by its identity: entries of a scenario share a name. */
struct mover {
	unsigned int moves;
	size_t last; /* its last move, or SIZE_MAX */
};

struct simulated_moves {
	struct simulated_world *world;
	const struct simulated_moves_options *options;
	void *state;			     /* the policy's */
	struct simulated_pressure *pressure; /* owned; or NULL */
	struct fleet fleet;
	size_t *fleet_vm;     /* the scenario's VM of each VM of the fleet */
	size_t *first, *next; /* the VMs of each node, as lists */
	size_t *identity;     /* of each VM: index in movers */
	struct mover *movers;
	unsigned int *out, *in; /* moves of this step, by node */
	struct move *log;
	size_t count, capacity;
	size_t step_first; /* the first move of this step */
	/* The filters of the last VM that was asked for. */
	struct prefilter prefilter;
	const struct pod *prefiltered;
	int64_t now_us;
};
