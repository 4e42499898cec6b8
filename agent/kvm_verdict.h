/* The state of KVM that a node reports, from the results of its probes. Pure.
 *
 * A probe can fail because it starves, or once. So create_failed and run_failed
 * count after a second failure KVM_CONFIRM_US later, without a success between
 * them. Until then the state before the first failure stays. While tasks of the
 * node wait for CPU most of the time, a failure says nothing: the state is
 * unverified. */
#pragma once

#include "proto/report.h"

#include <stdbool.h>
#include <stdint.h>

#define KVM_CONFIRM_US UINT64_C(60000000)

/* Share of the last interval in which some task waited for CPU. */
#define KVM_STARVED 0.5

/* Zeroed: no probe ended. */
struct kvm_verdict {
	struct kvm kvm; /* to report */
	bool is_failing;
	uint64_t failing_since_us;
};

/* A result at now_us of a monotonic clock. cpu_pressure 0 to 1; NAN: not
 * known. */
void kvm_verdict_add(struct kvm_verdict *verdict, const struct kvm *result,
	double cpu_pressure, uint64_t now_us);
