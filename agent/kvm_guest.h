/* The smallest guest: a page of memory, a vCPU, one instruction (HLT). */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

/* There is a guest for this architecture. */
bool kvm_guest_is_known(void);

/* Runs it in vm, a machine made with kvm and used for nothing else; both stay
 * the caller's. *exit_reason becomes KVM_EXIT_*: KVM_EXIT_HLT if it went well.
 * Fails with -errno, and errno set, where a system call does; -ENOSYS: no guest
 * for this architecture. */
must_check int kvm_guest_run(uint32_t *exit_reason, int kvm, int vm);
