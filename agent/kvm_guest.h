/* The smallest guest: a page of memory, a vCPU, one instruction (HLT). */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

/* True: this architecture has a guest. */
bool kvm_guest_is_known(void);

/* Runs the guest in vm, a new virtual machine made with kvm; the caller closes
 * both. *exit_reason becomes KVM_EXIT_*: KVM_EXIT_HLT on success. If a system
 * call fails, returns -errno and sets errno. -ENOSYS: this architecture has no
 * guest. */
must_check int kvm_guest_run(uint32_t *exit_reason, int kvm, int vm);
