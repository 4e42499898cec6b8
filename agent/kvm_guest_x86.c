/* The guest for x86-64: a HLT in real mode. */
#include "agent/kvm_guest_arch.h"

#if defined(__x86_64__)

#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
	CODE_AT = 0x1000,
	HLT = 0xf4,
	RFLAGS_RESERVED = 0x2, /* always set */
};

/* Three pages below 4 GiB that real mode needs on Intel CPUs; the address that
 * QEMU uses. */
#define TSS_ADDRESS 0xfffbd000UL

static unsigned long vm_type(int kvm)
{
	(void)kvm;
	return 0;
}

static void write_code(void *page, size_t bytes)
{
	memset(page, HLT, bytes);
}

static int prepare_vm(int vm)
{
	return ioctl(vm, KVM_SET_TSS_ADDR, TSS_ADDRESS);
}

static int prepare_vcpu(int vm, int vcpu)
{
	struct kvm_regs regs = { .rip = CODE_AT, .rflags = RFLAGS_RESERVED };
	struct kvm_sregs sregs;

	(void)vm;
	if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0) {
		return -1;
	}
	/* After a reset cs points at the top of memory. */
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0) {
		return -1;
	}
	return ioctl(vcpu, KVM_SET_REGS, &regs);
}

static bool is_expected(const struct kvm_run *run)
{
	return run->exit_reason == KVM_EXIT_HLT;
}

static const struct kvm_guest_arch x86 = {
	.page_at = CODE_AT,
	.vm_type = vm_type,
	.write_code = write_code,
	.prepare_vm = prepare_vm,
	.prepare_vcpu = prepare_vcpu,
	.is_expected = is_expected,
};

const struct kvm_guest_arch *const kvm_guest_arch = &x86;

#endif
