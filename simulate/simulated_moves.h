/* The moves of a simulated day: orders, copies and figures.
 *
 * docs/simulate.md has the rules: at each step the policy orders moves, and a
 * VM is copied during the first part of that step. */
#pragma once

#include "scheduler/filter/prefilter.h"
#include "scheduler/rebalance/move_policy.h"
#include "simulate/simulated_pressure.h"
#include "simulate/simulated_world.h"

#include <stdbool.h>
#include <stddef.h>

/* KubeVirt's defaults, and the inbound limit of HCO. */
enum {
	SIMULATED_MOVES_MAX = 5,
	SIMULATED_MOVES_OUT_MAX = 2,
	SIMULATED_MOVES_IN_MAX = 1,
};

/* The speed of a copy, in bytes per second. */
#define SIMULATED_MOVES_SPEED 1e9

struct simulated_moves_figures {
	size_t moves;
	size_t for_memory; /* of them */
	size_t most_of_one_vm;
	size_t back; /* to a node that the VM left within 2 hours */
	size_t worse_in_hindsight;
};

typedef void (*simulated_move)(void *owner, size_t step, size_t vm, size_t node,
	enum move_reason reason);

struct simulated_moves_options {
	const struct move_policy *policy; /* NULL: no VM moves */
	double price;
	simulated_move on_moved; /* may be NULL */
	void *owner;
};

struct simulated_moves;

/* world and options are borrowed and outlive it. */
struct simulated_moves *simulated_moves_new(struct simulated_world *world,
	const struct simulated_moves_options *options);
void simulated_moves_free(struct simulated_moves *moves); /* NULL is fine */

/* Gives the orders of a step, after the VMs of the step were placed. */
void simulated_moves_order(struct simulated_moves *moves, size_t step);

/* Adds the demand of a VM to its node, or to both nodes while it is copied. */
void simulated_moves_demand(struct simulated_world *world,
	const struct simulated_vm *vm, double cores, double memory_bytes);

/* A node was observed: its load. */
void simulated_moves_note(struct simulated_moves *moves, size_t node,
	const struct node_load *load, int64_t now_us);

/* The step was observed: the sources let go. */
void simulated_moves_end(struct simulated_moves *moves, size_t step);

/* loads: the demand / cores of each node at each step. */
void simulated_moves_sum_up(const struct simulated_moves *moves,
	struct simulated_moves_figures *out);

/* A move, for pictures. */
struct simulated_moves_mark {
	size_t step, source, target;
};
/* Owned by the caller. */
struct simulated_moves_mark *simulated_moves_marks(
	const struct simulated_moves *moves, size_t *count);
