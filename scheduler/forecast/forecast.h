/* The resources a VM will use before any agent has measured the VM.
 *
 * A launcher pod does not state the number of vCPUs of its VM. With dedicated
 * CPUs, and wherever limits are set, the CPU limit of the container `compute`
 * is the number of vCPUs. Otherwise KubeVirt requests vCPUs /
 * cpuAllocationRatio, and that ratio is 10 by default. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>
#include <stdint.h>

/* KubeVirt's default spec.configuration.developerConfiguration
 * .cpuAllocationRatio. */
#define FORECAST_VCPUS_PER_CPU 10.0

/* The maximum of KVM on x86. Higher estimates are cut to this. */
#define FORECAST_VCPUS_MAX 4096.0

/* From 1 to FORECAST_VCPUS_MAX. spec is a launcher pod's. */
double forecast_vcpus(const struct json_value *spec);

/* The VM has dedicated CPUs (dedicatedCpuPlacement): the nodeSelector of its
 * launcher pod then requires kubelet's static CPU manager by the label
 * kubevirt.io/cpumanager, or by the label's other name, cpumanager. */
bool forecast_is_dedicated(const struct json_value *spec);

/* A VM that is bound and is not (fully) part of the node's measured load. */
struct forecast_charge {
	double memory_bytes; /* requested */
	int64_t bound_us;
	bool is_seen; /* the node's load lists the VM, with this memory */
	double seen_memory_bytes;
};

/* The charge for an unseen VM ends this long after the VM was bound. By then
 * the node's 5-minute mean contains the VM. Without this limit the charge
 * would never end on a node whose agent cannot see VMs. */
#define FORECAST_UNSEEN_US (INT64_C(300) * 1000000)

/* A seen VM is charged the memory that it requested and has not touched yet:
 * in full up to the first age, then evenly less up to the second. Its CPU use
 * up to the first age does not count as an observation. A minute covers pulling
 * the image of virt-launcher, firmware, a kernel and its services. */
#define FORECAST_BOOT_US (INT64_C(60) * 1000000)
#define FORECAST_SETTLED_US (INT64_C(120) * 1000000)

/* The share of an unseen VM that is charged, 1 to 0. Continuous in time. */
double forecast_unseen(const struct forecast_charge *charge, int64_t now_us);

/* Bytes to add to the measured memory. Continuous in time. */
double forecast_memory(const struct forecast_charge *charge, int64_t now_us);
