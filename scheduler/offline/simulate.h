/* Plays a scenario in virtual time with the code that places real VMs.
 *
 * At each step VMs leave, VMs arrive and are placed one by one, then demand is
 * served and observed; docs/simulate.md has the rules. */
#pragma once

#include "scheduler/score/policy.h"
#include "scheduler/offline/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* VM number vm of the scenario went to node number node. */
typedef void (
	*simulate_placed)(void *owner, size_t step, size_t vm, size_t node);

/* A step is over. */
typedef void (*simulate_step)(void *owner, size_t step);

struct simulation_options {
	const struct policy *policy;
	simulate_placed on_placed; /* NULL: nobody asks */
	simulate_step on_step;
	void *owner;
};

/* Sums are in cores times steps. */
struct simulation {
	double demand, unserved;
	double unserved_pct, overload_pct, cv_mean; /* NAN: nothing to tell */
	size_t placed, unplaced;
	double decision_us_p50, decision_us_p99; /* NAN: no decision */
	float *loads; /* owned; D / C, node after node, each step by step */
};

/* -EBADMSG: a name that no API server would take. */
must_check int simulate(struct simulation *out, const struct scenario *scenario,
	const struct simulation_options *options, struct error *err);
void simulation_fini(struct simulation *simulation); /* zeroed is fine */
