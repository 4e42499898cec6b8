/* How others choose moves, each as its source describes, so that
 * `simulate --rebalance` can compare the rule with them.
 *
 * All of them see the last observed demand alone and move a VM that may be
 * moved to a node whose filters admit it. A source that says nothing about a
 * detail leaves it to the module, which then says so. Pure. */
#pragma once

#include "scheduler/rebalance/move_policy.h"

/* threshold.c: a node above 80 or 90 % gives its VM with the least memory (the
 * shortest copy). Beloglazov and Buyya, "Optimal online deterministic
 * algorithms and adaptive heuristics", 2012: static threshold, minimum
 * migration time. */
extern const struct move_policy threshold_80_policy, threshold_90_policy;

/* threshold.c: a node above 80 % gives the smallest VM that brings it below.
 * oVirt, scheduling policy evenly_distributed (HighUtilization 80). */
extern const struct move_policy smallest_that_helps_policy;

/* adaptive.c: the threshold is 1 - 1.5 interquartile ranges of the node's
 * history. CloudSim 3.0, PowerVmAllocationPolicyMigrationInterQuartileRange. */
extern const struct move_policy interquartile_policy;

/* adaptive.c: a local regression of the node's history predicts 1.2 x its use
 * at or above all cores. CloudSim 3.0,
 * PowerVmAllocationPolicyMigrationLocalRegression. */
extern const struct move_policy local_regression_policy;

/* deviation.c: nodes more than 10 points above the mean use give VMs, which a
 * scheduler then places by requests; descheduler, LowNodeUtilization with
 * useDeviationThresholds, as OpenShift's profile KubeVirtRelieveAndMigrate
 * sets it. The second one places by real load instead. */
extern const struct move_policy deviation_policy, deviation_real_load_policy;

/* imbalance.c: while the coefficient of variation of the nodes' use is above
 * 0.3, the move that lowers it most, if that is by a tenth. Proxmox VE, load
 * balancer of pve-ha-manager. */
extern const struct move_policy imbalance_policy;
