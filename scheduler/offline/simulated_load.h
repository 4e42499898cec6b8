/* What an agent and its aggregator would have seen of a simulated node.
 *
 * One sample is one step; a window shorter than a step is the last step's
 * figure. Means and deviations are those of the aggregator: population
 * deviation. Percentiles are left out: no policy reads them. */
#pragma once

#include "proto/load.h"
#include "scheduler/objects/pod.h"
#include "scheduler/offline/scenario.h"

#include <stddef.h>

struct observed {
	float *used; /* borrowed; D / C of each step that is over */
	double cores, step_s;

	double demand; /* of this step */
	double memory_bytes;
	struct vm_load *vms; /* owned; their demand until the step ends */
	size_t vm_count, vm_capacity;
};

/* A step begins: nobody wants anything yet. */
void observed_begin(struct observed *observed);
void observed_vm(struct observed *observed, const struct pod *pod,
	double cores);

/* Ends the step. Fills load as the next decisions will know it; the caller
 * has node_load_fini() to call. */
void observed_end(struct observed *observed, size_t step,
	struct node_load *load, const struct scenario_node *node);
void observed_fini(struct observed *observed);
