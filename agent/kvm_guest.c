#include "agent/kvm_guest.h"

#include <errno.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/kvm_guest_arch.h"
#include "lib/memory.h"

enum { EINTR_MAX = 16 };

/* The guest's memory: one page of the host. */
struct page {
	void *at;
	size_t bytes;
};

bool kvm_guest_is_known(void)
{
	return kvm_guest_arch != NULL;
}

unsigned long kvm_guest_vm_type(int kvm)
{
	return kvm_guest_arch != NULL ? kvm_guest_arch->vm_type(kvm) : 0;
}

static int add_memory(int vm, uint64_t at, const struct page *page)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = at,
		.memory_size = page->bytes,
		.userspace_addr = (uintptr_t)page->at,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region);
}

static int run_vcpu(int vcpu)
{
	int r = -1;

	for (int i = 0; r < 0 && i < EINTR_MAX; i++) {
		r = ioctl(vcpu, KVM_RUN, 0);
		if (r < 0 && errno != EINTR) {
			break;
		}
	}
	return r;
}

static int run(struct kvm_guest_exit *out, int kvm, int vcpu)
{
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct kvm_run *state;
	int error_number;
	int r;

	if (size < 0) {
		return -1;
	}
	state = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED,
		vcpu, 0);
	if (state == MAP_FAILED) {
		return -1;
	}
	r = run_vcpu(vcpu);
	error_number = errno;
	if (r == 0) {
		out->reason = state->exit_reason;
		out->is_expected = kvm_guest_arch->is_expected(state);
	}
	(void)munmap(state, (size_t)size);
	errno = error_number;
	return r;
}

static int run_page(struct kvm_guest_exit *out, int kvm, int vm,
	const struct page *page)
{
	const struct kvm_guest_arch *arch = kvm_guest_arch;

	if (arch->prepare_vm(vm) < 0 ||
		add_memory(vm, arch->page_at, page) < 0) {
		return -1;
	}
	scoped_fd int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (vcpu < 0 || arch->prepare_vcpu(vm, vcpu) < 0) {
		return -1;
	}
	return run(out, kvm, vcpu);
}

int kvm_guest_run(struct kvm_guest_exit *out, int kvm, int vm)
{
	struct page page = { .bytes = (size_t)sysconf(_SC_PAGESIZE) };
	int error_number;
	int r;

	if (kvm_guest_arch == NULL) {
		errno = ENOSYS;
		return -errno;
	}
	page.at = mmap(NULL, page.bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page.at == MAP_FAILED) {
		return -errno;
	}
	kvm_guest_arch->write_code(page.at, page.bytes);
	r = run_page(out, kvm, vm, &page);
	error_number = errno;
	(void)munmap(page.at, page.bytes);
	errno = error_number;
	return r < 0 ? -error_number : 0;
}
