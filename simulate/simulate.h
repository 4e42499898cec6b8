/* Runs a scenario in virtual time with the code that schedules real VMs.
 *
 * At each step VMs leave, VMs arrive and are scheduled one by one, VMs are
 * ordered to move, then demand is served and observed; docs/simulate.md has the
 * rules. */
#pragma once

#include "scheduler/score/policy.h"
#include "simulate/scenario.h"
#include "simulate/simulated_moves.h"

#include <stddef.h>

/* VM number vm of the scenario was scheduled to node number node. */
typedef void (
	*simulate_placed)(void *owner, size_t step, size_t vm, size_t node);

/* A step ended. */
typedef void (*simulate_step)(void *owner, size_t step);

struct simulation_options {
	const struct policy *policy;
	const struct move_policy *moves; /* NULL: no VM moves */
	double price;			 /* of a move */
	simulate_placed on_placed;	 /* may be NULL, as the next two */
	simulated_move on_moved;
	simulate_step on_step;
	void *owner;
};

/* Sums are in cores times steps. */
struct simulation {
	double demand, unserved;
	double unserved_pct, overload_pct, cv_mean; /* NAN: no data */
	/* Share of the nodes' time in which all tasks waited for memory; NAN:
	 * the scenario has no memory use. */
	double memory_stalled_pct;
	size_t placed, unplaced;
	size_t vm_steps; /* of running VMs */
	struct simulated_moves_figures moves;
	double moves_per_vm_day;	    /* NAN: no VM ran */
	struct simulated_moves_mark *marks; /* owned; of moves.moves moves */
	double decision_us_p50, decision_us_p99; /* NAN: no decision */
	float *loads; /* owned; demand / cores by node, then step */
};

/* -EBADMSG: a name that is invalid in Kubernetes. */
must_check int simulate(struct simulation *out, const struct scenario *scenario,
	const struct simulation_options *options, struct error *err);
void simulation_fini(struct simulation *simulation); /* zeroed is fine */
