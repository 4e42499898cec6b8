/* The requests of a VM's launcher pod, as virt-controller of KubeVirt 1.9
 * computes them. Pure. */
#pragma once

#include "lib/json.h"
#include "scheduler/launcher/launcher_settings.h"

#include <stdbool.h>
#include <stdint.h>

/* services/template.go, ephemeralStorageOverheadSize. */
#define LAUNCHER_EPHEMERAL_BYTES INT64_C(50000000)

/* The devices that depend on the KubeVirt CR. */
#define LAUNCHER_KVM "devices.kubevirt.io/kvm"
#define LAUNCHER_VHOST_NET "devices.kubevirt.io/vhost-net"
#define LAUNCHER_IOMMUFD "devices.kubevirt.io/iommufd"

struct launcher_needs {
	unsigned vcpus;
	int64_t guest_bytes; /* memory of the guest */
	/* spec.domain.resources.requests of the VM, which take the place of
	 * what is computed; 0: none. */
	int64_t requested_micro, requested_bytes;
	/* spec.domain.resources.limits.memory, which counts where nothing is
	 * requested; 0: none. */
	int64_t limit_bytes;
	bool is_guaranteed;	/* requests are limits; so with is_dedicated */
	bool has_pages;		/* the guest's memory is huge pages */
	bool is_dedicated;	/* its CPUs are its own */
	bool isolates_emulator; /* one more dedicated CPU, or two: */
	bool completes_parity;	/* so that their number is even */
	/* ioThreads.supplementalPoolThreadCount: CPUs beside the vCPUs. */
	unsigned io_threads;
	bool has_supplemental_pool; /* the policy of these threads */
	/* Overhead for devices, probes, memory encryption and the like. */
	int64_t extra_bytes;
	int64_t binding_bytes; /* of network bindings; no ratio multiplies it */
	bool leaves_overhead_out; /* resources.overcommitGuestOverhead */
	bool has_graphics;
	bool has_log; /* the sidecar that logs the serial console */
};

/* Requests of the container `compute`, and of the sidecar: CPU millionths and
 * bytes. */
struct launcher_amounts {
	int64_t micro, bytes, page_bytes;
	int64_t log_micro, log_bytes;
};

struct launcher_amounts launcher_amounts_of(const struct launcher_needs *needs,
	const struct launcher_settings *settings);

/* The class of its pod is Guaranteed, or its CPUs are its own. */
bool launcher_needs_guaranteed(const struct launcher_needs *needs);

/* The requests of one container beside `compute`, in micro and bytes. */
struct launcher_support_amounts launcher_support_of(enum launcher_support kind,
	bool is_guaranteed, const struct launcher_settings *settings);

/* Writes a request or limit as a quantity. unit: "u", millionths, or "". */
void launcher_amount_write(struct json *j, const char *key, int64_t amount,
	const char *unit);

/* The part of the bytes that is not the guest's. */
int64_t launcher_amounts_overhead(const struct launcher_needs *needs,
	const struct launcher_settings *settings);
