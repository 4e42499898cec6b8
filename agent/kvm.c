#include "agent/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/kvm_guest.h"
#include "lib/clock.h"
#include "lib/files.h"
#include "lib/memory.h"

/* The only version since Linux 2.6.22. */
enum { API_VERSION = 12 };

enum kvm_state kvm_classify(enum kvm_step step, int error_number)
{
	switch (error_number) {
	case EPERM:
	case EACCES:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return KVM_UNVERIFIED;
	default:
		break;
	}
	switch (step) {
	case KVM_STEP_OPEN:
		return error_number == ENOENT || error_number == ENODEV ||
				error_number == ENXIO
			? KVM_MISSING
			: KVM_UNVERIFIED;
	case KVM_STEP_API:
		return KVM_API_MISMATCH;
	case KVM_STEP_CREATE:
		return KVM_CREATE_FAILED;
	case KVM_STEP_RUN:
		break;
	}
	return KVM_RUN_FAILED;
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, 0) == 0;
}

static enum known_bool read_nested(int sys)
{
	static const char *const names[] = {
		"module/kvm_intel/parameters/nested",
		"module/kvm_amd/parameters/nested",
	};
	char text[16];

	for (size_t i = 0; i < count_of(names); i++) {
		if (file_read_at(text, sizeof(text), sys, names[i], NULL) > 0) {
			return text[0] == 'Y' || text[0] == '1' ? KNOWN_TRUE
								: KNOWN_FALSE;
		}
	}
	return KNOWN_NOT;
}

void kvm_read_devices(struct kvm *out, const struct kvm_plan *plan)
{
	out->nested = read_nested(plan->sys);
	out->has_tun = is_there(plan->dev, "net/tun");
	out->has_vhost_net = is_there(plan->dev, "vhost-net");
	out->has_vhost_vsock = is_there(plan->dev, "vhost-vsock");
	out->has_sev = is_there(plan->dev, "sev");
}

static void fail(struct kvm *out, enum kvm_step step)
{
	out->error_number = errno;
	out->state = kvm_classify(step, errno);
}

static void probe_guest(struct kvm *out, int kvm, int vm)
{
	struct kvm_guest_exit guest;

	if (!kvm_guest_is_known()) {
		out->state = KVM_UNVERIFIED;
		return;
	}
	if (kvm_guest_run(&guest, kvm, vm) < 0) {
		fail(out, KVM_STEP_RUN);
		return;
	}
	out->exit_reason = guest.reason;
	if (!guest.is_expected) {
		out->state = KVM_RUN_FAILED;
		return;
	}
	out->level = KVM_LEVEL_RUN;
}

static void probe_vm(struct kvm *out, int kvm, const struct kvm_plan *plan)
{
	scoped_fd int vm = ioctl(kvm, KVM_CREATE_VM, kvm_guest_vm_type(kvm));

	if (vm < 0) {
		fail(out, KVM_STEP_CREATE);
		return;
	}
	out->level = KVM_LEVEL_VM;
	if (plan->level >= KVM_LEVEL_RUN) {
		probe_guest(out, kvm, vm);
	}
}

static void probe_device(struct kvm *out, const struct kvm_plan *plan)
{
	scoped_fd int kvm = openat(plan->dev, "kvm", O_RDWR | O_CLOEXEC);
	int version;

	if (kvm < 0) {
		fail(out, KVM_STEP_OPEN);
		return;
	}
	out->level = KVM_LEVEL_OPEN;
	version = ioctl(kvm, KVM_GET_API_VERSION, 0);
	if (version < 0) {
		fail(out, KVM_STEP_API);
		return;
	}
	if (version != API_VERSION) {
		out->state = KVM_API_MISMATCH;
		return;
	}
	out->state = KVM_OK;
	if (plan->level >= KVM_LEVEL_VM) {
		probe_vm(out, kvm, plan);
	}
}

void kvm_probe(struct kvm *out, const struct kvm_plan *plan)
{
	uint64_t started_us = clock_monotonic_us();

	out->state = KVM_UNVERIFIED;
	out->level = KVM_LEVEL_OFF;
	out->error_number = 0;
	out->exit_reason = 0;
	out->latency_us = 0;
	if (plan->level == KVM_LEVEL_OFF) {
		return;
	}
	if (faccessat(plan->dev, "kvm", F_OK, 0) != 0) {
		fail(out, KVM_STEP_OPEN);
	} else {
		out->level = KVM_LEVEL_STAT;
	}
	if (out->level == KVM_LEVEL_STAT && plan->level > KVM_LEVEL_STAT) {
		probe_device(out, plan);
	}
	out->latency_us = clock_monotonic_us() - started_us;
}
