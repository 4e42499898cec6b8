/* The load of a simulated node, as an agent and an aggregator would measure it.
 *
 * One step is one sample; a window shorter than a step has the last step's
 * value. Deviations are population deviations, as the aggregator's. There are
 * no percentiles: no policy reads them. */
#pragma once

#include "proto/load.h"
#include "scheduler/objects/pod.h"
#include "scheduler/offline/scenario.h"

#include <stddef.h>

struct simulated_load {
	float *used; /* borrowed; demand / cores of past steps */
	double cores, step_s;

	double demand; /* of this step */
	double memory_bytes;
	struct vm_load *vms; /* owned; their demand until the step ends */
	size_t vm_count, vm_capacity;
};

/* Starts a step, without demand. */
void simulated_load_begin(struct simulated_load *o);
void simulated_load_vm(struct simulated_load *o, const struct pod *pod,
	double cores);

/* Ends the step. Fills load for the next decisions; the caller frees it with
 * node_load_fini(). */
void simulated_load_end(struct simulated_load *o, size_t step,
	struct node_load *load, const struct scenario_node *node);
void simulated_load_fini(struct simulated_load *o);
