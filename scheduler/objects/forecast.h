/* How much CPU a VM will use before anybody has measured it.
 *
 * A launcher pod does not say how many vCPUs its VM has, but what it requests
 * follows from them: with dedicated CPUs, and wherever limits are set, the CPU
 * limit of the container `compute` is the number of vCPUs; otherwise KubeVirt
 * requests vCPUs / cpuAllocationRatio, which is 10 unless set otherwise. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>
#include <stdint.h>

/* KubeVirt's default spec.configuration.developerConfiguration
 * .cpuAllocationRatio. */
#define FORECAST_VCPUS_PER_CPU 10.0

/* KVM on x86 gives a VM no more; a pod that asks for more is not believed. */
#define FORECAST_VCPUS_MAX 4096.0

/* From 1 to FORECAST_VCPUS_MAX. spec is a launcher pod's. */
double forecast_vcpus(const struct value *spec);

/* The VM has CPUs of its own (dedicatedCpuPlacement): its launcher pod then
 * asks for nodes with kubelet's static CPU manager, by KubeVirt's label
 * kubevirt.io/cpumanager, or cpumanager by the other name it has. */
bool forecast_is_dedicated(const struct value *spec);

/* A VM that was placed and is not (fully) part of the node's measured load. */
struct pending {
	double memory_bytes; /* requested */
	int64_t bound_us;
	bool is_seen; /* the node's load lists the VM: with these figures */
	double seen_memory_bytes;
};

/* A VM is no longer charged this long after it was bound. Nodes whose agent
 * cannot see VMs would otherwise never be rid of the charge; by then the
 * node's 5-minute mean contains the VM. */
#define FORECAST_UNSEEN_US (INT64_C(300) * 1000000)

/* A VM that is seen is charged the memory it has not touched yet while it
 * boots: in full up to the first age, then less and less up to the second. What
 * CPU it uses up to the first age is not learned from. A minute: pulling the
 * image of virt-launcher, firmware, a kernel and its services. */
#define FORECAST_BOOT_US (INT64_C(60) * 1000000)
#define FORECAST_SETTLED_US (INT64_C(120) * 1000000)

/* How much of a VM that is not seen is charged, 1 to 0. Continuous in time. */
double forecast_unseen(const struct pending *pending, int64_t now_us);

/* Bytes to add to what was measured. Continuous in time. */
double forecast_memory(const struct pending *pending, int64_t now_us);
