/* Names of KVM states, and the sentences about failures. */
#include "proto/kvm_state.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void names_values_as_the_apis_show_them(void **state)
{
	(void)state;
	assert_string_equal(kvm_state_name(KVM_UNVERIFIED), "unverified");
	assert_string_equal(kvm_state_name(KVM_OK), "ok");
	assert_string_equal(kvm_state_name(KVM_MISSING), "missing");
	assert_string_equal(kvm_state_name(KVM_API_MISMATCH), "api_mismatch");
	assert_string_equal(kvm_state_name(KVM_CREATE_FAILED), "create_failed");
	assert_string_equal(kvm_state_name(KVM_RUN_FAILED), "run_failed");
	assert_string_equal(kvm_level_name(KVM_LEVEL_OFF), "off");
	assert_string_equal(kvm_level_name(KVM_LEVEL_STAT), "stat");
	assert_string_equal(kvm_level_name(KVM_LEVEL_OPEN), "open");
	assert_string_equal(kvm_level_name(KVM_LEVEL_VM), "vm");
	assert_string_equal(kvm_level_name(KVM_LEVEL_RUN), "run");
}

static void describes_failures_of_kvm(void **state)
{
	static const struct {
		struct kvm kvm;
		const char *text;
	} cases[] = {
		{ { .state = KVM_OK, .level = KVM_LEVEL_RUN }, "" },
		{ { .state = KVM_MISSING }, "" },
		{ { .state = KVM_MISSING, .error_number = ENOENT },
			"/dev/kvm: No such file or directory" },
		{ { .state = KVM_UNVERIFIED, .error_number = EACCES },
			"/dev/kvm: Permission denied" },
		{ { .state = KVM_UNVERIFIED, .level = KVM_LEVEL_STAT },
			"probe level stat" },
		{ { .state = KVM_API_MISMATCH }, "" },
		{ { .state = KVM_API_MISMATCH, .error_number = ENOTTY },
			"KVM_GET_API_VERSION: Inappropriate ioctl for device" },
		{ { .state = KVM_CREATE_FAILED, .error_number = EBUSY },
			"KVM_CREATE_VM: Device or resource busy" },
		{ { .state = KVM_RUN_FAILED, .error_number = EINTR },
			"KVM_RUN: Interrupted system call" },
		{ { .state = KVM_RUN_FAILED, .exit_reason = 17 },
			"KVM_RUN: exit reason 17" },
	};
	char text[80];

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		memset(text, 'x', sizeof(text));
		assert_ptr_equal(kvm_detail(text, &cases[i].kvm), text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_values_as_the_apis_show_them),
		cmocka_unit_test(describes_failures_of_kvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
