/* Learns from a cluster's VMs how far kin move together: forecast/kin.h.
 *
 * A pass reads all VMs, and then tells the nodes what was learnt. It runs in
 * slices, between which the cluster may change: a VM that changes its node
 * meanwhile may be left out of this pass. Pure. */
#pragma once

#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: between two passes. */
struct kin_pass {
	struct kin_table next; /* what this pass learns */
	struct model_sum peers;
	size_t node; /* next to read, or to tell */
	bool is_reading, is_telling;
};

/* A slice: this many nodes. */
enum { KIN_PASS_SLICE = 64 };

/* Does a slice of the pass, which begins if none is under way and the last one
 * ended KIN_PASS_US ago. False: nothing is to do until then. */
bool kin_pass_next(struct kin_pass *pass, struct cluster *cluster,
	int64_t now_us);

void kin_pass_fini(struct kin_pass *pass);
