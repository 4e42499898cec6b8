/* The part of the guest that depends on the architecture. Only kvm_guest.c uses
 * it. kvm_guest_x86.c, kvm_guest_arm64.c or, for the other architectures,
 * kvm_guest_none.c defines it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kvm_run;

/* The functions that return int return -1 and set errno on failure. */
struct kvm_guest_arch {
	/* The address of the page in the guest: a multiple of every size of
	 * page that the host may have. */
	uint64_t page_at;
	unsigned long (*vm_type)(int kvm);
	/* Fills the page with instructions. */
	void (*write_code)(void *page, size_t bytes);
	int (*prepare_vm)(int vm);
	int (*prepare_vcpu)(int vm, int vcpu);
	bool (*is_expected)(const struct kvm_run *run);
};

/* NULL: this architecture has no guest. */
extern const struct kvm_guest_arch *const kvm_guest_arch;
