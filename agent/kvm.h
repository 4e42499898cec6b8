/* Tests whether this node can run virtual machines.
 *
 * A device file is no proof: another hypervisor may use the CPU's extensions,
 * or the module may be loaded incompletely. So the probe creates a virtual
 * machine that executes one instruction. Without a guest for this architecture
 * (kvm_guest.h) the state is unverified. A failure that concerns only the agent
 * (no permission, no descriptors, no memory) does not count against the node.
 * The kernel may block the probe forever: see kvm_prober.h. */
#pragma once

#include "proto/report.h"

enum kvm_step {
	KVM_STEP_OPEN, /* finding and opening the device */
	KVM_STEP_API,
	KVM_STEP_CREATE,
	KVM_STEP_RUN,
};

/* The input of a probe. The directories stay open while the probe may run. */
struct kvm_plan {
	int dev, sys;	      /* directories */
	enum kvm_level level; /* how far to go */
};

/* The state of KVM after a step failed with this errno (positive). Pure. */
enum kvm_state kvm_classify(enum kvm_step step, int error_number);

/* Checks which other devices and parameters exist: nested, tun, vhost-net,
 * vhost-vsock, sev. */
void kvm_read_devices(struct kvm *out, const struct kvm_plan *plan);

/* Tests up to plan->level. Sets state, level, error_number, exit_reason and
 * latency_us; the rest of *out is not changed. */
void kvm_probe(struct kvm *out, const struct kvm_plan *plan);
