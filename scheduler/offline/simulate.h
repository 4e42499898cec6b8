/* Runs a scenario in virtual time with the code that schedules real VMs.
 *
 * At each step VMs leave, VMs arrive and are scheduled one by one, then demand
 * is served and observed; docs/simulate.md has the rules. */
#pragma once

#include "scheduler/offline/scenario.h"
#include "scheduler/score/policy.h"

#include <stddef.h>

/* VM number vm of the scenario was scheduled to node number node. */
typedef void (
	*simulate_placed)(void *owner, size_t step, size_t vm, size_t node);

/* A step ended. */
typedef void (*simulate_step)(void *owner, size_t step);

struct simulation_options {
	const struct policy *policy;
	simulate_placed on_placed; /* both may be NULL */
	simulate_step on_step;
	void *owner;
};

/* Sums are in cores times steps. */
struct simulation {
	double demand, unserved;
	double unserved_pct, overload_pct, cv_mean; /* NAN: no data */
	size_t placed, unplaced;
	double decision_us_p50, decision_us_p99; /* NAN: no decision */
	float *loads; /* owned; demand / cores by node, then step */
};

/* -EBADMSG: a name that is invalid in Kubernetes. */
must_check int simulate(struct simulation *out, const struct scenario *scenario,
	const struct simulation_options *options, struct error *err);
void simulation_fini(struct simulation *simulation); /* zeroed is fine */
