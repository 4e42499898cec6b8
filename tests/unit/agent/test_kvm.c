#include "agent/kvm.h"

#include <errno.h>

#include "agent/kvm_guest.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/agent/fixture.h"

struct fixture {
	struct tree tree;
	struct kvm_plan plan;
	struct kvm kvm;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	f.plan = (struct kvm_plan){ f.tree.fd, f.tree.fd, KVM_LEVEL_RUN };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tree_fini(&f->tree);
	return 0;
}

static void classifies_failures_of_the_agent_as_unverified(void **state)
{
	static const struct {
		enum kvm_step step;
		int error_number;
		enum kvm_state is;
	} cases[] = {
		{ KVM_STEP_OPEN, ENOENT, KVM_MISSING },
		{ KVM_STEP_OPEN, ENODEV, KVM_MISSING },
		{ KVM_STEP_OPEN, ENXIO, KVM_MISSING },
		{ KVM_STEP_OPEN, EPERM, KVM_UNVERIFIED },
		{ KVM_STEP_OPEN, EACCES, KVM_UNVERIFIED },
		{ KVM_STEP_OPEN, EBUSY, KVM_UNVERIFIED },
		{ KVM_STEP_OPEN, EMFILE, KVM_UNVERIFIED },
		{ KVM_STEP_API, ENOTTY, KVM_API_MISMATCH },
		{ KVM_STEP_API, EPERM, KVM_UNVERIFIED },
		{ KVM_STEP_CREATE, EBUSY, KVM_CREATE_FAILED },
		{ KVM_STEP_CREATE, EINVAL, KVM_CREATE_FAILED },
		{ KVM_STEP_CREATE, EACCES, KVM_UNVERIFIED },
		{ KVM_STEP_CREATE, ENOMEM, KVM_UNVERIFIED },
		{ KVM_STEP_RUN, EIO, KVM_RUN_FAILED },
		{ KVM_STEP_RUN, EINVAL, KVM_RUN_FAILED },
		{ KVM_STEP_RUN, EPERM, KVM_UNVERIFIED },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(
			kvm_classify(cases[i].step, cases[i].error_number),
			cases[i].is);
	}
}

static void a_device_without_a_file_is_missing(void **state)
{
	struct fixture *f = *state;

	for (int level = KVM_LEVEL_STAT; level <= KVM_LEVEL_RUN; level++) {
		f->plan.level = (enum kvm_level)level;
		kvm_probe(&f->kvm, &f->plan);
		assert_int_equal(f->kvm.state, KVM_MISSING);
		assert_int_equal(f->kvm.level, KVM_LEVEL_OFF);
		assert_int_equal(f->kvm.error_number, ENOENT);
	}
}

static void reports_unverified_if_nothing_was_tested(void **state)
{
	struct fixture *f = *state;

	tree_put(&f->tree, "kvm", "");
	f->plan.level = KVM_LEVEL_OFF;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_UNVERIFIED);
	assert_int_equal(f->kvm.level, KVM_LEVEL_OFF);
	assert_int_equal(f->kvm.error_number, 0);
	f->plan.level = KVM_LEVEL_STAT;
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_UNVERIFIED);
	assert_int_equal(f->kvm.level, KVM_LEVEL_STAT);
	assert_int_equal(f->kvm.error_number, 0);
}

static void a_plain_file_as_device_has_no_kvm_api(void **state)
{
	struct fixture *f = *state;

	tree_put(&f->tree, "kvm", "");
	kvm_probe(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.state, KVM_API_MISMATCH);
	assert_int_equal(f->kvm.level, KVM_LEVEL_OPEN);
	assert_int_equal(f->kvm.error_number, ENOTTY);
}

static void finds_the_other_devices(void **state)
{
	struct fixture *f = *state;

	kvm_read_devices(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.nested, KNOWN_NOT);
	assert_false(f->kvm.has_tun || f->kvm.has_vhost_net ||
		f->kvm.has_vhost_vsock || f->kvm.has_sev);
	tree_put(&f->tree, "net/tun", "");
	tree_put(&f->tree, "vhost-net", "");
	tree_put(&f->tree, "vhost-vsock", "");
	tree_put(&f->tree, "sev", "");
	tree_put(&f->tree, "module/kvm_amd/parameters/nested", "1\n");
	kvm_read_devices(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.nested, KNOWN_TRUE);
	assert_true(f->kvm.has_tun && f->kvm.has_vhost_net &&
		f->kvm.has_vhost_vsock && f->kvm.has_sev);
	tree_put(&f->tree, "module/kvm_intel/parameters/nested", "N\n");
	kvm_read_devices(&f->kvm, &f->plan);
	assert_int_equal(f->kvm.nested, KNOWN_FALSE);
}

static void runs_a_guest_if_the_machine_has_kvm(void **state)
{
	struct fixture *f = *state;
	int dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (faccessat(dev, "kvm", R_OK | W_OK, AT_EACCESS) != 0) {
		(void)close(dev);
		skip();
	}
	f->plan.dev = dev;
	fake_clock.step_us = 7;
	for (int level = KVM_LEVEL_OPEN; level <= KVM_LEVEL_RUN; level++) {
		f->plan.level = (enum kvm_level)level;
		kvm_probe(&f->kvm, &f->plan);
		assert_int_equal(f->kvm.state,
			level < KVM_LEVEL_RUN || kvm_guest_is_known()
				? KVM_OK
				: KVM_UNVERIFIED);
		assert_int_equal(f->kvm.latency_us, 7);
	}
	fake_clock.step_us = 0;
#if defined(__x86_64__)
	assert_int_equal(f->kvm.level, KVM_LEVEL_RUN);
	assert_int_equal(f->kvm.exit_reason, 5); /* KVM_EXIT_HLT */
#elif defined(__aarch64__)
	assert_int_equal(f->kvm.level, KVM_LEVEL_RUN);
	assert_int_equal(f->kvm.exit_reason, 6); /* KVM_EXIT_MMIO */
#endif
	(void)close(dev);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			classifies_failures_of_the_agent_as_unverified),
		TEST(a_device_without_a_file_is_missing),
		TEST(reports_unverified_if_nothing_was_tested),
		TEST(a_plain_file_as_device_has_no_kvm_api),
		TEST(finds_the_other_devices),
		TEST(runs_a_guest_if_the_machine_has_kvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
