/* The probe where KVM is there and the guest is missing or ends in another
 * way. The linker replaces the calls of KVM by the functions below. */
#include "agent/kvm.h"

#include <errno.h>
#include <linux/kvm.h>

#include "agent/kvm_guest.h"
#include "tests/unit/agent/fixture.h"

struct fixture {
	struct tree tree;
	struct kvm_plan plan;
	struct kvm kvm;
};

static struct {
	bool has_guest;
	struct kvm_guest_exit end;
	int version_errno, create_errno; /* 0: it succeeds */
	int guest_errno;		 /* 0: the guest ends */
	int version;
} machine;

int __wrap_ioctl(int fd, unsigned long request, ...);
bool __wrap_kvm_guest_is_known(void);
int __wrap_kvm_guest_run(struct kvm_guest_exit *out, int kvm, int vm);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	switch (request) {
	case KVM_GET_API_VERSION:
		errno = machine.version_errno;
		return errno == 0 ? machine.version : -1;
	case KVM_CREATE_VM:
		errno = machine.create_errno;
		return errno == 0 ? dup(fd) : -1;
	default:
		return 0;
	}
}

bool __wrap_kvm_guest_is_known(void)
{
	return machine.has_guest;
}

int __wrap_kvm_guest_run(struct kvm_guest_exit *out, int kvm, int vm)
{
	assert_true(machine.has_guest);
	assert_true(kvm >= 0 && vm >= 0);
	*out = machine.end;
	errno = machine.guest_errno;
	return -machine.guest_errno;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	tree_put(&f.tree, "kvm", "");
	f.plan = (struct kvm_plan){ f.tree.fd, f.tree.fd, KVM_LEVEL_RUN };
	memset(&machine, 0, sizeof(machine));
	machine.has_guest = true;
	machine.version = KVM_API_VERSION;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tree_fini(&f->tree);
	return 0;
}

static void an_architecture_without_a_guest_is_unverified(void **state)
{
	struct fixture *f = *state;
	char detail[80];

	machine.has_guest = false;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_UNVERIFIED);
	assert_int_equal(f->kvm.level, KVM_LEVEL_VM);
	assert_string_equal(kvm_detail(detail, &f->kvm), "probe level vm");
}

static void a_machine_is_enough_if_no_guest_was_asked_for(void **state)
{
	struct fixture *f = *state;

	machine.has_guest = false;
	f->plan.level = KVM_LEVEL_VM;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_OK);
	assert_int_equal(f->kvm.level, KVM_LEVEL_VM);
}

static void a_guest_that_ends_as_it_should_is_ok(void **state)
{
	struct fixture *f = *state;

	machine.end = (struct kvm_guest_exit){ KVM_EXIT_MMIO, true };
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_OK);
	assert_int_equal(f->kvm.level, KVM_LEVEL_RUN);
	assert_int_equal(f->kvm.exit_reason, KVM_EXIT_MMIO);
}

static void the_right_exit_with_wrong_contents_is_run_failed(void **state)
{
	struct fixture *f = *state;
	char detail[80];

	machine.end = (struct kvm_guest_exit){ KVM_EXIT_MMIO, false };
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_RUN_FAILED);
	assert_int_equal(f->kvm.level, KVM_LEVEL_VM);
	assert_string_equal(kvm_detail(detail, &f->kvm),
		"KVM_RUN: exit reason 6");
}

static void a_guest_that_the_kernel_refuses_is_run_failed(void **state)
{
	struct fixture *f = *state;

	machine.guest_errno = EINVAL;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_RUN_FAILED);
	assert_int_equal(f->kvm.error_number, EINVAL);
}

static void a_machine_that_the_kernel_refuses_is_create_failed(void **state)
{
	struct fixture *f = *state;

	machine.create_errno = ENODEV;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_CREATE_FAILED);
	assert_int_equal(f->kvm.level, KVM_LEVEL_OPEN);
	assert_int_equal(f->kvm.error_number, ENODEV);
}

static void another_version_is_an_api_mismatch(void **state)
{
	struct fixture *f = *state;

	machine.version = KVM_API_VERSION + 1;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_API_MISMATCH);
	assert_int_equal(f->kvm.level, KVM_LEVEL_OPEN);
	machine.version_errno = ENOTTY;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_API_MISMATCH);
	assert_int_equal(f->kvm.error_number, ENOTTY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_architecture_without_a_guest_is_unverified),
		TEST(a_machine_is_enough_if_no_guest_was_asked_for),
		TEST(a_guest_that_ends_as_it_should_is_ok),
		TEST(the_right_exit_with_wrong_contents_is_run_failed),
		TEST(a_guest_that_the_kernel_refuses_is_run_failed),
		TEST(a_machine_that_the_kernel_refuses_is_create_failed),
		TEST(another_version_is_an_api_mismatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
