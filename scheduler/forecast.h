/* How much CPU a VM will use before anybody has measured it.
 *
 * A launcher pod does not say how many vCPUs its VM has, but what it requests
 * follows from them: with dedicated CPUs, and wherever limits are set, the CPU
 * limit of the container `compute` is the number of vCPUs; otherwise KubeVirt
 * requests vCPUs / cpuAllocationRatio, which is 10 unless set otherwise. */
#pragma once

#include "kube/value.h"

#include <stdbool.h>
#include <stdint.h>

/* KubeVirt's default spec.configuration.developerConfiguration
 * .cpuAllocationRatio. */
#define FORECAST_VCPUS_PER_CPU 10.0

/* The share of its vCPUs a VM uses on average, as long as nothing is known of
 * it: between the 10 to 20 % that fleets report and the 100 % of one that does
 * nothing but compute. Too low piles new VMs up, too high scatters them. */
#define FORECAST_SHARE 0.25

/* KVM on x86 gives a VM no more; a pod that asks for more is not believed. */
#define FORECAST_VCPUS_MAX 4096.0

/* From 1 to FORECAST_VCPUS_MAX. spec is a launcher pod's. */
double forecast_vcpus(const struct value *spec);

/* A VM that was placed and is not (fully) part of the node's measured load. */
struct pending {
	double expected_cores;
	double memory_bytes; /* requested */
	int64_t bound_us;
	bool is_seen; /* the node's load lists the VM: with these figures */
	double seen_cores, seen_memory_bytes;
};

/* A VM is no longer charged this long after it was bound. Nodes whose agent
 * cannot see VMs would otherwise never be rid of the charge; by then the
 * node's 5-minute mean contains the VM. */
#define FORECAST_UNSEEN_US (INT64_C(300) * 1000000)

/* A VM that is seen is charged what is missing to its expectation while it
 * boots: in full up to the first age, then less and less up to the second. */
#define FORECAST_BOOT_US (INT64_C(60) * 1000000)
#define FORECAST_SETTLED_US (INT64_C(120) * 1000000)

/* Cores, bytes to add to what was measured. Continuous in time. */
double forecast_cores(const struct pending *pending, int64_t now_us);
double forecast_memory(const struct pending *pending, int64_t now_us);
