/* The cost of a pod's constraints in one decision, before it is made.
 *
 * The cost is a number of comparisons: of a term, a toleration or a spread
 * constraint with a node, a taint or a pod on a node, where each requirement of
 * a selector counts. It is an upper bound, as if every selector matched. One
 * takes some 15 ns. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* The most that one decision may cost, some 150 ms. Nothing else runs
 * meanwhile, and the Lease is renewed every 2 s. */
#define CONSTRAINT_COST_MAX UINT64_C(10000000)

/* A pod whose constraints have no more parts is never refused, however large
 * the cluster is. A usual pod has fewer. */
enum { CONSTRAINT_PARTS_FREE = 16 };

/* 0 for a pod of CONSTRAINT_PARTS_FREE parts or fewer, without a look at the
 * cluster. */
uint64_t constraint_cost(const struct pod *pod, const struct cluster *cluster);

/* The pod costs more than it may. */
bool constraint_cost_exceeds(const struct pod *pod,
	const struct cluster *cluster);

/* The reason to refuse such a pod, as in objects/unsupported.h. */
extern const char constraint_cost_refusal[];
