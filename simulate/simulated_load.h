/* The load of a simulated node, as an agent and an aggregator would measure it.
 *
 * One step is one sample; a window shorter than a step has the last step's
 * value. Deviations are population deviations, as the aggregator's. There are
 * no percentiles: no policy reads them. */
#pragma once

#include "proto/load.h"
#include "scheduler/objects/pod.h"
#include "simulate/scenario.h"

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
	double cores, double memory_bytes);

/* Adds to the demand, or subtracts from it, what no VM of the list
 * explains: the work of a copy, and the part of the step that a moving VM
 * spends elsewhere. */
void simulated_load_add(struct simulated_load *o, double cores);

/* Adds the memory of a VM that is copied to or from another node. */
void simulated_load_add_memory(struct simulated_load *o, double bytes);

/* The share of the step in which all tasks wait for memory: ten times the share
 * of the demand that does not fit, because the least used pages are in swap. */
double simulated_load_stalled(const struct simulated_load *o,
	const struct scenario_node *node);

/* Ends the step. Fills load for the next decisions; the caller frees it with
 * node_load_fini(). */
void simulated_load_end(struct simulated_load *o, size_t step,
	struct node_load *load, const struct scenario_node *node);
void simulated_load_fini(struct simulated_load *o);
