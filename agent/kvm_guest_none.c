/* No guest: the probe stops at the machine without a vCPU, and says
 * `unverified`. */
#include "agent/kvm_guest_arch.h"

#if !defined(__x86_64__) && !defined(__aarch64__)

const struct kvm_guest_arch *const kvm_guest_arch = NULL;

#endif
