/* The guest for arm64: a store to an address without memory, with the MMU off.
 *
 * A call of PSCI's SYSTEM_OFF would end the guest too. The store is chosen for
 * three reasons:
 * - It needs no optional feature of the vCPU, and every version of KVM for
 *   arm64 handles it.
 * - It uses what each VM with an emulated device uses.
 * - The exit contains the address and the value, so an exit for another reason
 *   cannot look like success. */
#include "agent/kvm_guest_arch.h"

#if defined(__aarch64__)

#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

/* The page is at 0, where the exception vectors are after a reset. If the vCPU
 * takes an exception, its vector stores a zero. Without these vectors the vCPU
 * would take exceptions forever. */
enum {
	PAGE_AT = 0,
	CODE_AT = 0x800, /* behind the vectors */
	EMPTY_AT = 0x100000,
	VALUE = 0x506c,
	IPA_BITS = 40, /* of a machine of type 0 */
};

/* The same for every order of bytes: A64 instructions are little-endian. */
static const uint8_t store_x1[] = { 0x01, 0x00, 0x00, 0xf9 }; /* str x1, [x0] */
static const uint8_t store_zero[] = { 0x1f, 0x00, 0x00,
	0xf9 }; /* str xzr, [x0] */

/* Some CPUs have fewer bits of guest addresses than a machine of type 0. */
static unsigned long vm_type(int kvm)
{
	int bits = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_ARM_VM_IPA_SIZE);

	return bits > 0 && bits < IPA_BITS
		? KVM_VM_TYPE_ARM_IPA_SIZE((unsigned long)bits)
		: 0;
}

static void write_code(void *page, size_t bytes)
{
	uint8_t *code = page;

	for (size_t i = 0; i < bytes; i += sizeof(store_x1)) {
		memcpy(code + i, i < CODE_AT ? store_zero : store_x1,
			sizeof(store_x1));
	}
}

static int prepare_vm(int vm)
{
	(void)vm;
	return 0;
}

static int set_register(int vcpu, uint64_t name, uint64_t value)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
			name,
		.addr = (uintptr_t)&value,
	};

	return ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

static int prepare_vcpu(int vm, int vcpu)
{
	struct kvm_vcpu_init init;

	if (ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) < 0 ||
		ioctl(vcpu, KVM_ARM_VCPU_INIT, &init) < 0 ||
		set_register(vcpu, KVM_REG_ARM_CORE_REG(regs.regs[0]),
			EMPTY_AT) < 0 ||
		set_register(vcpu, KVM_REG_ARM_CORE_REG(regs.regs[1]), VALUE) <
			0) {
		return -1;
	}
	return set_register(vcpu, KVM_REG_ARM_CORE_REG(regs.pc), CODE_AT);
}

static bool is_expected(const struct kvm_run *run)
{
	uint64_t value;

	if (run->exit_reason != KVM_EXIT_MMIO || !run->mmio.is_write ||
		run->mmio.phys_addr != EMPTY_AT ||
		run->mmio.len != sizeof(value)) {
		return false;
	}
	memcpy(&value, run->mmio.data, sizeof(value));
	return value == VALUE;
}

static const struct kvm_guest_arch arm64 = {
	.page_at = PAGE_AT,
	.vm_type = vm_type,
	.write_code = write_code,
	.prepare_vm = prepare_vm,
	.prepare_vcpu = prepare_vcpu,
	.is_expected = is_expected,
};

const struct kvm_guest_arch *const kvm_guest_arch = &arm64;

#endif
