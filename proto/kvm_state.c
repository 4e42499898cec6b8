#include "proto/kvm_state.h"

#include <stdio.h>
#include <string.h>

const char *kvm_state_name(enum kvm_state state)
{
	static const char *const names[KVM_STATES] = { "unverified", "ok",
		"missing", "api_mismatch", "create_failed", "run_failed" };

	return names[state];
}

const char *kvm_level_name(enum kvm_level level)
{
	static const char *const names[] = { "off", "stat", "open", "vm",
		"run" };

	return names[level];
}

/* The step at which the probe ended, in the words of the manual pages. */
static const char *failed_step(const struct kvm *kvm)
{
	switch (kvm->state) {
	case KVM_API_MISMATCH:
		return "KVM_GET_API_VERSION";
	case KVM_CREATE_FAILED:
		return "KVM_CREATE_VM";
	case KVM_RUN_FAILED:
		return "KVM_RUN";
	case KVM_MISSING:
	case KVM_UNVERIFIED:
	case KVM_OK:
	case KVM_STATES:
		break;
	}
	return "/dev/kvm";
}

char *kvm_detail(char *out, const struct kvm *kvm)
{
	enum { DETAIL_MAX = 80 };

	out[0] = '\0';
	if (kvm->error_number != 0) {
		(void)snprintf(out, DETAIL_MAX, "%s: %s", failed_step(kvm),
			strerror(kvm->error_number));
	} else if (kvm->state == KVM_RUN_FAILED) {
		(void)snprintf(out, DETAIL_MAX, "KVM_RUN: exit reason %u",
			kvm->exit_reason);
	} else if (kvm->state == KVM_UNVERIFIED) {
		(void)snprintf(out, DETAIL_MAX, "probe level %s",
			kvm_level_name(kvm->level));
	}
	return out;
}
