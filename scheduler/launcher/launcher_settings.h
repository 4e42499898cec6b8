/* The settings of the KubeVirt CR on which launcher pods depend. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>
#include <stdint.h>

/* Longer node selectors and network bindings of the CR are not read. */
enum { LAUNCHER_SELECTOR_MAX = 1024 };

/* The containers beside `compute`. */
enum launcher_support {
	LAUNCHER_SUPPORT_DISK, /* container disks, and the kernel's */
	LAUNCHER_SUPPORT_LOG,  /* of the serial console */
	LAUNCHER_SUPPORT_HOOK, /* sidecars of hooks and network bindings */
	LAUNCHER_SUPPORT_VIRTIOFS,
	LAUNCHER_SUPPORTS,
};

/* CPU millionths and bytes; 0: KubeVirt's default. */
struct launcher_support_amounts {
	int64_t micro, bytes;		  /* requests */
	int64_t limit_micro, limit_bytes; /* requests of class Guaranteed */
};

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
	/* The feature gates HypervStrictCheck,
	 * CrossArchitectureVirtualization, ImageVolume and IOMMUFD are open. */
	bool checks_hyperv, crosses_architectures, mounts_images, has_iommufd;
	bool emulates;	 /* developerConfiguration.useEmulation: without KVM */
	bool has_no_log; /* virtualMachineOptions.disableSerialConsoleLog */
	/* supportContainerResources */
	struct launcher_support_amounts supports[LAUNCHER_SUPPORTS];
	/* network.binding as a JSON object; "": none, or too long. */
	char bindings[LAUNCHER_SELECTOR_MAX];
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
