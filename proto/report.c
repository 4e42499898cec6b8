#include "proto/report.h"

#include "lib/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct psi unknown_psi = { SOURCE_UNKNOWN, REPORT_UNKNOWN,
	REPORT_UNKNOWN };

static const struct pressure unknown_pressure = {
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
	{ SOURCE_UNKNOWN, REPORT_UNKNOWN, REPORT_UNKNOWN },
};

void report_init(struct report *report)
{
	const uint64_t none = REPORT_UNKNOWN;

	*report = (struct report){
		.cpu = { .user_us = none,
			.nice_us = none,
			.system_us = none,
			.idle_us = none,
			.iowait_us = none,
			.irq_us = none,
			.softirq_us = none,
			.steal_us = none },
		.pressure = unknown_pressure,
		.kubepods = unknown_pressure,
		.memory = { .total_bytes = none,
			.available_bytes = none,
			.swap_total_bytes = none,
			.swap_free_bytes = none,
			.ksm_saved_bytes = none },
		.irq = unknown_psi,
		.own = { none, none, none },
		.vms_skipped = none,
		.load1 = NAN,
		.load5 = NAN,
		.load15 = NAN,
	};
}

void vm_pod_init(struct vm_pod *vm)
{
	const uint64_t none = REPORT_UNKNOWN;

	*vm = (struct vm_pod){
		.cpu_usage_us = none,
		.nr_throttled = none,
		.throttled_us = none,
		.pressure = { unknown_psi, unknown_psi, unknown_psi },
		.memory_current_bytes = none,
		.working_set_bytes = none,
		.anon_shmem_bytes = none,
		.swap_bytes = none,
		.oom_kills = none,
	};
}

void report_fini(struct report *report)
{
	if (report != NULL) {
		free(report->vms);
		report->vms = NULL;
		report->vm_count = 0;
	}
}

void report_copy(struct report *out, const struct report *from)
{
	*out = *from;
	out->vms = from->vm_count == 0
		? NULL
		: xmemdup(from->vms, from->vm_count * sizeof(*from->vms));
}

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

const char *source_state_name(enum source_state state)
{
	static const char *const names[] = { "unknown", "present", "absent",
		"disabled", "error" };

	return names[state];
}

const char *cgroup_mode_name(enum cgroup_mode mode)
{
	static const char *const names[] = { "unknown", "v2", "hybrid", "v1" };

	return names[mode];
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
