#include "agent/kvm_guest.h"

#include <errno.h>

#if defined(__x86_64__)

#include <linux/kvm.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "lib/memory.h"

enum {
	PAGE_BYTES = 4096,
	CODE_AT = 0x1000, /* address of the instruction in the guest */
	HLT = 0xf4,
	RFLAGS_RESERVED = 0x2, /* always set */
	EINTR_MAX = 16,
};

/* Three pages below 4 GiB that real mode needs on Intel CPUs; the address that
 * QEMU uses. */
#define TSS_ADDRESS 0xfffbd000UL

bool kvm_guest_is_known(void)
{
	return true;
}

static int add_memory(int vm, void *page)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = CODE_AT,
		.memory_size = PAGE_BYTES,
		.userspace_addr = (uintptr_t)page,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region);
}

static int set_registers(int vcpu)
{
	struct kvm_regs regs = { .rip = CODE_AT, .rflags = RFLAGS_RESERVED };
	struct kvm_sregs sregs;

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

static int run(uint32_t *exit_reason, int kvm, int vcpu)
{
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct kvm_run *state;
	int r = -1;

	if (size < 0) {
		return -1;
	}
	state = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED,
		vcpu, 0);
	if (state == MAP_FAILED) {
		return -1;
	}
	for (int i = 0; r < 0 && i < EINTR_MAX; i++) {
		r = ioctl(vcpu, KVM_RUN, 0);
		if (r < 0 && errno != EINTR) {
			break;
		}
	}
	if (r == 0) {
		*exit_reason = state->exit_reason;
	}
	(void)munmap(state, (size_t)size);
	return r;
}

static int run_page(uint32_t *exit_reason, int kvm, int vm, void *page)
{
	if (ioctl(vm, KVM_SET_TSS_ADDR, TSS_ADDRESS) < 0 ||
		add_memory(vm, page) < 0) {
		return -1;
	}
	scoped_fd int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (vcpu < 0 || set_registers(vcpu) < 0) {
		return -1;
	}
	return run(exit_reason, kvm, vcpu);
}

int kvm_guest_run(uint32_t *exit_reason, int kvm, int vm)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error_number;
	int r;

	if (page == MAP_FAILED) {
		return -errno;
	}
	memset(page, HLT, PAGE_BYTES);
	r = run_page(exit_reason, kvm, vm, page);
	error_number = errno;
	(void)munmap(page, PAGE_BYTES);
	errno = error_number;
	return r < 0 ? -error_number : 0;
}

#else

bool kvm_guest_is_known(void)
{
	return false;
}

int kvm_guest_run(uint32_t *exit_reason, int kvm, int vm)
{
	(void)exit_reason;
	(void)kvm;
	(void)vm;
	errno = ENOSYS;
	return -errno;
}

#endif
