#include "agent/report_json.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"
#include "tests/unit/proto/full_report.h"

static char *write_json(const struct report *report)
{
	struct buffer out = BUFFER_MAX(1 << 20);
	size_t len;

	report_json_write(&out, "node-1", report);
	assert_false(out.overflowed);
	return buffer_take(&out, &len);
}

static void leaves_out_unknown_values(void **state)
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
	report->irq.state = SOURCE_PRESENT;
	report->irq.full_us = 6;
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

static void writes_states_as_words(void **state)
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
	assert_float_equal(at(at(root, "irq"), "full_us")->valuedouble, 6, 0);
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

/* 1 is a value that no kind leaves out. */
static void set_rows(void *base, enum report_list of)
{
	struct report_rows rows = report_rows(of);
	const double one = 1;

	for (size_t i = 0; i < rows.count; i++) {
		const struct report_row *row = &rows.list[i];
		char *at = (char *)base + row->offset;

		memset(at, 0, row->size);
		*at = 1;
		if (row->kind == REPORT_DOUBLE) {
			memcpy(at, &one, sizeof(one));
		}
	}
}

static void assert_key(const char *text, const struct report_row *row)
{
	size_t skip = row->kind == REPORT_BOOL ? strlen("has_") : 0;
	scoped_free char *key = xasprintf("\"%s\":", row->name + skip);

	if (strstr(text, key) == NULL) {
		fail_msg("%s is not in %s", key, text);
	}
}

static void assert_keys(const char *text, enum report_list of)
{
	struct report_rows rows = report_rows(of);

	for (size_t i = 0; i < rows.count; i++) {
		enum report_kind kind = rows.list[i].kind;

		/* The detail of KVM stands for these two. */
		if (kind != REPORT_ERRNO && kind != REPORT_EXIT_REASON) {
			assert_key(text, &rows.list[i]);
		}
	}
}

static void has_a_key_for_every_field(void **state)
{
	struct vm_pod vm;
	struct report report;
	scoped_free char *node = NULL, *pod = NULL;

	(void)state;
	report_init(&report);
	set_rows(&report, OF_NODE);
	node = write_json(&report);
	assert_keys(node, OF_NODE);

	report_init(&report);
	vm_pod_init(&vm);
	set_rows(&vm, OF_POD);
	set_rows(&vm.hugetlb[0], OF_HUGETLB);
	vm.hugetlb_count = 1;
	report.vms = &vm;
	report.vm_count = 1;
	pod = write_json(&report);
	assert_keys(pod, OF_POD);
	assert_keys(pod, OF_HUGETLB);
}

/* People and scripts read `plimsoll-agent --once`. */
static void each_figure_has_its_key(void **state)
{
	struct report report;
	scoped_free char *text = NULL;

	(void)state;
	full_report(&report, 100);
	text = write_json(&report);
	assert_golden_json("agent/report.json", text);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_out_unknown_values),
		cmocka_unit_test(writes_states_as_words),
		cmocka_unit_test(has_a_key_for_every_field),
		cmocka_unit_test(each_figure_has_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
