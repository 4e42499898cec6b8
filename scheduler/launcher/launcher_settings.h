/* The settings of the KubeVirt CR on which launcher pods depend. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>

/* Longer node selectors of the CR are not read. */
enum { LAUNCHER_SELECTOR_MAX = 1024 };

struct launcher_settings {
	/* spec.configuration.developerConfiguration: a VM requests vCPUs /
	 * cpuAllocationRatio, and guest memory * 100 / memoryOvercommit. */
	unsigned cpu_allocation_ratio, memory_overcommit;
	/* spec.configuration.additionalGuestMemoryOverheadRatio: multiplies
	 * the memory that QEMU and virt-launcher need beside the guest. */
	double overhead_ratio;
	/* status.observedKubeVirtVersion: the rules differ. Without it they are
	 * those of 1.9; 0.0: it cannot be read. */
	unsigned major, minor;
	/* The feature gates HypervStrictCheck and
	 * CrossArchitectureVirtualization are open. */
	bool checks_hyperv, crosses_architectures;
	/* developerConfiguration.nodeSelectors as a JSON object; "": none. */
	char node_selector[LAUNCHER_SELECTOR_MAX];
	bool is_selector_too_long;
};

/* KubeVirt's: pkg/virt-config/virt-config.go. */
extern const struct launcher_settings launcher_settings_default;

/* object: a KubeVirt CR; NULL is fine. Settings that it lacks, or whose value
 * KubeVirt would refuse, have the default. */
void launcher_settings_read(struct launcher_settings *out,
	const struct json_value *object);

/* Both make the same launcher pods. */
bool launcher_settings_equal(const struct launcher_settings *a,
	const struct launcher_settings *b);

/* KubeVirt is of this version, or newer. */
bool launcher_settings_is_from(const struct launcher_settings *settings,
	unsigned major, unsigned minor);
