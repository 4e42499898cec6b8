/* Whether this node can really run virtual machines.
 *
 * A device file proves little: another hypervisor may hold the CPU's
 * extensions, a module may be half loaded. The probe makes a machine of its
 * own and lets it execute one instruction. What only says something about the
 * agent (no permission, no descriptors, no memory) is never held against the
 * node. May block for ever where the kernel does: see kvm_prober.h. */
#pragma once

#include "proto/report.h"

#include <stdint.h>

enum kvm_step {
	KVM_STEP_OPEN, /* opening, or looking for, the device */
	KVM_STEP_API,
	KVM_STEP_CREATE,
	KVM_STEP_RUN,
};

/* What a probe works with; the directories stay open as long as it may run. */
struct kvm_plan {
	int dev, sys;	      /* directories */
	enum kvm_level level; /* how far to go */
};

/* What it means that a step failed with this errno (positive). Pure. */
enum kvm_state kvm_judge(enum kvm_step step, int error_number);

/* What there is beside the device, by looking only: nested, tun, vhost-net,
 * vhost-vsock, sev. */
void kvm_look(struct kvm *out, const struct kvm_plan *plan);

/* Goes as far as plan->level says and fills in state, level, error_number,
 * exit_reason and latency_us; the rest of *out is left alone. */
void kvm_probe(struct kvm *out, const struct kvm_plan *plan);
