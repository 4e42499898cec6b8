/* The settings of the KubeVirt CR on which the requests of launcher pods
 * depend. */
#pragma once

#include "kube/json_value.h"

struct launcher_settings {
	/* spec.configuration.developerConfiguration: a VM requests vCPUs /
	 * cpuAllocationRatio, and guest memory * 100 / memoryOvercommit. */
	unsigned cpu_allocation_ratio, memory_overcommit;
	/* spec.configuration.additionalGuestMemoryOverheadRatio: multiplies
	 * the memory that QEMU and virt-launcher need beside the guest. */
	double overhead_ratio;
};

/* KubeVirt's: pkg/virt-config/virt-config.go. */
extern const struct launcher_settings launcher_settings_default;

/* object: a KubeVirt CR; NULL is fine. Settings that it lacks, or whose value
 * KubeVirt would refuse, have the default. */
void launcher_settings_read(struct launcher_settings *out,
	const struct json_value *object);
