/* The smallest guest: a page of memory, a vCPU, and one instruction that ends
 * it. Each architecture has its own instruction and its own exit:
 *
 * x86-64: HLT, and the exit is KVM_EXIT_HLT.
 * arm64: a store to an address without memory. The exit is KVM_EXIT_MMIO with
 * the address and the value of that store.
 *
 * The other architectures have no guest. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

struct kvm_guest_exit {
	uint32_t reason;  /* KVM_EXIT_* */
	bool is_expected; /* the guest did what it should */
};

/* True: this architecture has a guest. */
bool kvm_guest_is_known(void);

/* The type of machine to ask KVM_CREATE_VM for, on every architecture. */
unsigned long kvm_guest_vm_type(int kvm);

/* Runs the guest in vm, a new virtual machine of kvm_guest_vm_type() made with
 * kvm; the caller closes both. If a system call fails, returns -errno and sets
 * errno. -ENOSYS: this architecture has no guest. */
must_check int kvm_guest_run(struct kvm_guest_exit *out, int kvm, int vm);
