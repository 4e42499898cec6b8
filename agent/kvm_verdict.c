#include "agent/kvm_verdict.h"

static bool has_failed(const struct kvm *kvm)
{
	return kvm->state == KVM_CREATE_FAILED || kvm->state == KVM_RUN_FAILED;
}

void kvm_verdict_add(struct kvm_verdict *verdict, const struct kvm *result,
	double cpu_pressure, uint64_t now_us)
{
	bool failed = has_failed(result);

	if (!failed || cpu_pressure > KVM_STARVED) {
		verdict->is_failing = false;
		verdict->kvm = *result;
		verdict->kvm.state = failed ? KVM_UNVERIFIED : result->state;
		return;
	}
	if (!verdict->is_failing) {
		verdict->is_failing = true;
		verdict->failing_since_us = now_us;
	}
	if (now_us - verdict->failing_since_us >= KVM_CONFIRM_US) {
		verdict->kvm = *result;
	}
}
