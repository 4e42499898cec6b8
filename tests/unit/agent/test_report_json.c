#include "agent/report_json.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

static char *write_json(const struct report *report)
{
	struct buffer out = BUFFER_MAX(1 << 20);
	size_t len;

	report_json_write(&out, "node-1", report);
	assert_false(out.overflowed);
	return buffer_take(&out, &len);
}

static void leaves_out_what_is_not_known(void **state)
{
	static const char *const absent[] = { "\"seq\"", "\"boot_id\"",
		"\"wall_us\"", "\"online\"", "\"user_us\"", "\"pressure\"",
		"\"kubepods\"", "\"total_bytes\"", "\"load1\"",
		"\"latency_us\"", "\"nested\"", "18446744073709551615", "null",
		"nan" };
	struct report report;
	scoped_free char *text = NULL;

	(void)state;
	report_init(&report);
	report.seq = REPORT_UNKNOWN;
	report.monotonic_us = REPORT_UNKNOWN;
	report.wall_us = REPORT_UNKNOWN;
	text = write_json(&report);
	for (size_t i = 0; i < count_of(absent); i++) {
		assert_null(strstr(text, absent[i]));
	}
	assert_non_null(strstr(text, "\"node\":\"node-1\""));
	assert_non_null(strstr(text, "\"cgroup_mode\":\"unknown\""));
}

static const cJSON *at(const cJSON *object, const char *key)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_non_null(member);
	return member;
}

static void fill(struct report *report)
{
	report_init(report);
	report->seq = 1;
	report->cpu.state = SOURCE_PRESENT;
	report->cpu.online = 2;
	report->cpu.user_us = 77;
	report->pressure.cpu.state = SOURCE_PRESENT;
	report->pressure.cpu.some_us = 5;
	report->pressure.memory.state = SOURCE_DISABLED;
	report->kvm.state = KVM_OK;
	report->kvm.level = KVM_LEVEL_RUN;
	report->kvm.latency_us = 900;
	report->kvm.nested = KNOWN_FALSE;
	report->kvm.has_tun = true;
	report->load1 = 0.5;
	report->vms = xcalloc(1, sizeof(report->vms[0]));
	report->vm_count = 1;
	vm_pod_init(&report->vms[0]);
	memcpy(report->vms[0].pod_uid, "uid", 4);
	report->vms[0].cpu_usage_us = 8;
	report->vms[0].hugetlb[0] =
		(struct hugetlb_use){ .size_bytes = 4, .used_bytes = 0 };
	report->vms[0].hugetlb_count = 1;
}

static void says_states_as_words(void **state)
{
	struct report report;
	scoped_free char *text = NULL;
	const cJSON *pressure;
	const cJSON *kvm;
	const cJSON *vm;
	cJSON *root;

	(void)state;
	fill(&report);
	text = write_json(&report);
	report_fini(&report);
	root = cJSON_Parse(text);
	assert_non_null(root);
	assert_string_equal(at(at(root, "cpu"), "state")->valuestring,
		"present");
	assert_float_equal(at(at(root, "cpu"), "user_us")->valuedouble, 77, 0);
	pressure = at(root, "pressure");
	assert_float_equal(at(at(pressure, "cpu"), "some_us")->valuedouble, 5,
		0);
	assert_string_equal(at(at(pressure, "memory"), "state")->valuestring,
		"disabled");
	kvm = at(root, "kvm");
	assert_string_equal(at(kvm, "state")->valuestring, "ok");
	assert_string_equal(at(kvm, "level")->valuestring, "run");
	assert_true(cJSON_IsFalse(at(kvm, "nested")));
	assert_true(cJSON_IsTrue(at(at(kvm, "devices"), "tun")));
	assert_true(cJSON_IsFalse(at(at(kvm, "devices"), "sev")));
	vm = cJSON_GetArrayItem(at(root, "vms"), 0);
	assert_string_equal(at(vm, "pod_uid")->valuestring, "uid");
	assert_float_equal(at(vm, "cpu_usage_us")->valuedouble, 8, 0);
	assert_int_equal(cJSON_GetArraySize(at(vm, "hugetlb")), 1);
	assert_float_equal(
		at(cJSON_GetArrayItem(at(vm, "hugetlb"), 0), "used_bytes")
			->valuedouble,
		0, 0);
	cJSON_Delete(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_out_what_is_not_known),
		cmocka_unit_test(says_states_as_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
