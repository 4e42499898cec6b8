#include "agent/kvm_verdict.h"

static bool has_failed(const struct kvm *kvm)
{
	return kvm->state == KVM_CREATE_FAILED || kvm->state == KVM_RUN_FAILED;
}

/* Reports the devices and figures of the result, with this state. */
static void report(struct kvm_verdict *verdict, const struct kvm *result,
	enum kvm_state state)
{
	verdict->kvm = *result;
	verdict->kvm.state = state;
}

void kvm_verdict_add(struct kvm_verdict *verdict, const struct kvm *result,
	double cpu_pressure, uint64_t now_us)
{
	if (!has_failed(result)) {
		verdict->is_failing = false;
		report(verdict, result, result->state);
		return;
	}
	if (cpu_pressure > KVM_STARVED) {
		verdict->is_failing = false;
		report(verdict, result, KVM_UNVERIFIED);
		return;
	}
	if (!verdict->is_failing) {
		verdict->is_failing = true;
		verdict->failing_since_us = now_us;
	}
	if (now_us - verdict->failing_since_us >= KVM_CONFIRM_US) {
		report(verdict, result, result->state);
	}
}
